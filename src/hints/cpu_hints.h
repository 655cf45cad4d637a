// SPDX-License-Identifier: Apache-2.0
//
// Hints for exclusive CPUs.
#pragma once

#include "cpuset/cpu_set.h"
#include "hints/hint.h"
#include "topology/topology.h"

namespace corehold {

// How many NUMA nodes `count` CPUs need on an idle machine; all of them if even that is
// too few.
int fewest_nodes(const Topology& topology, int count);

enum class SocketAlignment { kIgnored, kPreferred };

// Where `count` CPUs could come from: `reusable` ones, whose NUMA nodes are all needed
// then, and `available` ones. Preferred are as few NUMA nodes as an idle machine would
// need and, with kPreferred, as few sockets.
HintFamily cpu_hints(const Topology& topology, const CpuSet& available, const CpuSet& reusable,
                     int count, SocketAlignment alignment);

}  // namespace corehold
