// SPDX-License-Identifier: Apache-2.0
//
// How long a container that shrinks keeps its CPUs after it was told which ones go, as
// text: the option scale-delay-time of the node, and the annotation by which a pod has a
// delay of its own.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

inline constexpr const char* kScaleDelayAnnotation = "corehold.dev/scale-delay";

// "5s", "500ms", "1.5s": 0 to 10 seconds in whole milliseconds.
Result<std::chrono::milliseconds> parse_scale_delay(std::string_view text);

// The value of the annotation: "off", which is no delay at all, or what the option takes.
Result<std::chrono::milliseconds> parse_own_scale_delay(std::string_view text);

// What a pod with these annotations asks for; no value: what the node gives.
Result<std::optional<std::chrono::milliseconds>> own_scale_delay(
    const std::map<std::string, std::string>& annotations);

}  // namespace corehold
