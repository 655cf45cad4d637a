// SPDX-License-Identifier: Apache-2.0
//
// From a loaded hwloc topology to our Topology. Internal to discover.
#pragma once

#include <hwloc.h>

#include "base/result.h"
#include "topology/topology.h"

namespace corehold {

// What the kernel's command line has said about CPUs, which hwloc does not know.
struct BootCpus {
  CpuSet isolated{};
  CpuSet nohz_full{};
};

// REQUIRES: hwloc_topology_load() has succeeded on `loaded`.
Result<Topology> read_topology(hwloc_topology_t loaded, const BootCpus& boot);

}  // namespace corehold
