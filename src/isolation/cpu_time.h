// SPDX-License-Identifier: Apache-2.0
//
// How a CPU has spent its time since the machine was booted, as /proc/stat and /proc/schedstat
// count it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "cpuset/cpu_set.h"

namespace corehold {

struct CpuTime {
  // Of /proc/stat, in units of 10 ms.
  std::uint64_t user = 0;  // nice ones and guests included
  std::uint64_t system = 0;
  std::uint64_t idle = 0;  // waiting for disks included
  std::uint64_t irq = 0;
  std::uint64_t softirq = 0;
  std::uint64_t steal = 0;  // it was ready, and the hypervisor ran somebody else

  // Of /proc/schedstat, in nanoseconds; none where the kernel has no such file.
  std::optional<std::uint64_t> run_ns{};   // tasks ran
  std::optional<std::uint64_t> wait_ns{};  // tasks were ready and waited for it

  bool operator==(const CpuTime&) const = default;
};

using CpuTimes = std::map<CpuId, CpuTime>;

}  // namespace corehold
