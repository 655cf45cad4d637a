// SPDX-License-Identifier: Apache-2.0
//
// Windows processor groups (KEP-3570): a CPU there is a group and a bit in that
// group's 64-bit mask. Its CPU id is group * 64 + bit, so a group of fewer than
// 64 processors leaves a gap: two groups of 35 are 0-34 and 64-98.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold {

// One group's share of an affinity: WindowsCpuGroupAffinity of the CRI.
struct GroupAffinity {
  std::uint64_t mask = 0;
  std::uint32_t group = 0;

  bool operator==(const GroupAffinity&) const = default;
};

// The CPUs of all affinities together. Fails with kInvalid for a group whose ids
// are beyond what a CpuSet holds.
Result<CpuSet> cpus_of_groups(const std::vector<GroupAffinity>& groups);

// One affinity per group that has CPUs in `cpus`, ascending by group.
std::vector<GroupAffinity> groups_of_cpus(const CpuSet& cpus);

}  // namespace corehold
