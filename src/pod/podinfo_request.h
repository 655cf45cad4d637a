// SPDX-License-Identifier: Apache-2.0
//
// How a pod asks for the files `assigned.cpuset` and `assigned.memset` without a volume, where
// the API server refuses these fields in one: an annotation with the directory in which each
// container finds its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

inline constexpr const char* kPodInfoAnnotation = "corehold.dev/podinfo";

// The directory; no value: the pod does not ask. Fails with kInvalid for what is no absolute
// path below "/", written the shortest way.
Result<std::optional<std::string>> podinfo_directory(
    const std::map<std::string, std::string>& annotations);
Result<std::string> parse_podinfo_directory(std::string_view text);

// Whether a volume mounted at `mount_path` and the files would hide each other.
bool hides_podinfo(std::string_view mount_path, std::string_view directory);

}  // namespace corehold
