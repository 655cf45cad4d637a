// SPDX-License-Identifier: Apache-2.0
//
// Durations as Go writes them: "10s", "1m30s", "1.5h", "0".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// Whole milliseconds, not negative, up to Go's 292 years. Fails with kInvalid, saying
// what is wrong with the text.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back: "1m30s", "500ms", "0s".
std::string show_duration(std::chrono::milliseconds duration);

}  // namespace corehold
