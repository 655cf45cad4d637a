// SPDX-License-Identifier: Apache-2.0
//
// How a pod asks for more quiet on the CPUs that its containers have of their own than the node
// gives to all: an annotation.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

inline constexpr const char* kQuietAnnotation = "corehold.dev/quiet";

// What the kernel makes of the CPUs of a container.
enum class CpuPartition {
  kNone,      // a cpuset like others
  kIsolated,  // a cpuset partition: no load balancing, and no other cgroup has these CPUs
};

// "partition". Fails with kInvalid for any other word.
Result<CpuPartition> parse_quiet(std::string_view text);

// What a pod with these annotations asks for; kNone for a word that is not known, which a pod may
// have from before it was refused.
CpuPartition partition_of(const std::map<std::string, std::string>& annotations);

}  // namespace corehold
