// SPDX-License-Identifier: Apache-2.0
//
// From a loaded hwloc topology to our Topology. Internal to discover.
#pragma once

#include <hwloc.h>

#include "base/result.h"
#include "topology/topology.h"

namespace corehold {

// REQUIRES: hwloc_topology_load() has succeeded on `loaded`.
Result<Topology> read_topology(hwloc_topology_t loaded, const CpuSet& isolated);

}  // namespace corehold
