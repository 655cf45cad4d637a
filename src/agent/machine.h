// SPDX-License-Identifier: Apache-2.0
//
// The machine under the agent, as far as no library tells.
#pragma once

#include "agent/log.h"
#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

// The CPUs of the topology that the kernel has online now.
Result<CpuSet> online_cpus(const Topology& topology);

// Keeps this process, and so whatever it starts, on these CPUs; none: everywhere. What
// the kernel does not allow is logged and left.
void keep_to(const CpuSet& cpus, const Log& log);

}  // namespace corehold
