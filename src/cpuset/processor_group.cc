// SPDX-License-Identifier: Apache-2.0
#include "cpuset/processor_group.h"

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr int kGroupSize = 64;
constexpr std::uint32_t kMaxGroups = kMaxCpus / kGroupSize;

}  // namespace

Result<CpuSet> cpus_of_groups(const std::vector<GroupAffinity>& groups) {
  CpuSet cpus;
  for (const GroupAffinity& affinity : groups) {
    if (affinity.group >= kMaxGroups) {
      return Error{Code::kInvalid, fmt::format("processor group {} is outside 0 to {}",
                                               affinity.group, kMaxGroups - 1)};
    }
    const int base = static_cast<int>(affinity.group) * kGroupSize;
    for (int bit = 0; bit < kGroupSize; ++bit) {
      if ((affinity.mask >> bit & 1) != 0) cpus.insert(CpuId(base + bit));
    }
  }
  return cpus;
}

std::vector<GroupAffinity> groups_of_cpus(const CpuSet& cpus) {
  std::vector<GroupAffinity> groups;
  for (const CpuId cpu : cpus) {
    const auto group = static_cast<std::uint32_t>(cpu.value / kGroupSize);
    if (groups.empty() || groups.back().group != group) {
      groups.push_back({.mask = 0, .group = group});
    }
    groups.back().mask |= std::uint64_t{1} << (cpu.value % kGroupSize);
  }
  return groups;
}

}  // namespace corehold
