// SPDX-License-Identifier: Apache-2.0
//
// What the agent asks the kernel for: the CPUs online, and the CPUs of its own process.
#pragma once

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "sys/log/log.h"
#include "topology/topology.h"

namespace corehold {

// The CPUs that the kernel has online now.
Result<CpuSet> online_cpus();
// Those of them that the topology has.
Result<CpuSet> online_cpus(const Topology& topology);

// Keeps this process, and so whatever it starts, on these CPUs; none: everywhere. What
// the kernel does not allow is logged and left.
void keep_to(const CpuSet& cpus, const Log& log);

}  // namespace corehold
