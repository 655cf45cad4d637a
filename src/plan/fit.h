// SPDX-License-Identifier: Apache-2.0
//
// How well a set of CPUs sits on a machine: how many cores, L3 caches, NUMA nodes and
// sockets it touches, beside the fewest that could hold as many CPUs.
#pragma once

#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

struct Spread {
  int touched = 0;
  int fewest = 0;

  bool is_one() const { return touched == 1; }
  bool is_best() const { return touched <= fewest; }
  bool operator==(const Spread&) const = default;
};

struct Fit {
  int split_cores = 0;  // cores of which the set holds some CPUs but not all
  Spread cores{};
  Spread caches{};  // L3, or what stands in for one
  Spread nodes{};
  Spread sockets{};

  bool is_whole_cores() const { return split_cores == 0; }
  bool operator==(const Fit&) const = default;
};

// `givable`: CPUs that somebody may have if nobody else is there; the fewest are
// counted in it.
Fit fit_of(const Topology& topology, const CpuSet& givable, const CpuSet& cpus);

}  // namespace corehold
