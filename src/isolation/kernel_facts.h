// SPDX-License-Identifier: Apache-2.0
//
// What the kernel of this machine is and was told at boot, as far as it decides what can be kept
// away from a CPU.
#pragma once

#include <map>
#include <string>

#include "cpuset/cpu_set.h"

namespace corehold {

struct KernelFacts {
  std::string release{};  // "6.1.0-37-amd64"
  int major = 0;
  int minor = 0;
  std::string boot_id{};
  CpuSet online{};
  CpuSet isolated{};   // outside the scheduler's balancing: isolcpus and isolated partitions
  CpuSet nohz_full{};  // no tick while one task runs there
  CpuSet rcu_nocbs{};  // callbacks of RCU run elsewhere; contains nohz_full
  CpuSet isolcpus{};   // the CPUs of the boot parameter, whatever its flags
  std::map<CpuId, CpuSet> smt_siblings{};  // of CPUs that are online: itself and those of its core

  bool is_at_least(int wanted_major, int wanted_minor) const {
    return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
  }

  bool operator==(const KernelFacts&) const = default;
};

}  // namespace corehold
