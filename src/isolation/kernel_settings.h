// SPDX-License-Identifier: Apache-2.0
//
// Settings of the machine that nobody here writes and that cost a program on CPUs of its own time
// all the same: frequencies, page migration, the pause of real-time tasks, huge pages, the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"

namespace corehold {

// Between which limits the frequency of an uncore changes.
struct UncoreFrequency {
  std::string name{};  // "package_00_die_00", "uncore03"
  std::int64_t min_khz = 0;
  std::int64_t max_khz = 0;

  bool operator==(const UncoreFrequency&) const = default;
};

// Each is there only where the kernel says it.
struct KernelSettings {
  std::map<CpuId, std::string> governors{};  // of the frequency: "schedutil"; of CPUs asked about
  std::vector<UncoreFrequency> uncores{};    // by name
  std::optional<std::int64_t> numa_balancing{};
  std::optional<std::int64_t> rt_runtime_us{};  // -1: no limit
  std::optional<std::int64_t> rt_period_us{};
  std::optional<std::string> transparent_hugepage{};  // "always", "madvise", "never"
  std::optional<bool> resctrl_is_mounted{};           // no value: this machine has no resctrl
  bool has_cat_l3 = false;  // the L3 cache can be divided; known only where resctrl is not mounted

  bool operator==(const KernelSettings&) const = default;
};

}  // namespace corehold
