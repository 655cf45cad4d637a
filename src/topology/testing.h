// SPDX-License-Identifier: Apache-2.0
//
// Machines for tests and benchmarks, named by their shape. "2s4c2t" is 2 sockets
// x 4 cores x 2 threads; letters from the outside in are s(ocket), n (NUMA node),
// l (L3 cache), c(ore), t(hread), each count being per enclosing part. Where n or
// l is not named there is one per socket. "2n2s..." puts two sockets in a node.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

enum class Numbering {
  kNeighbours,  // siblings are adjacent: 0-1, 2-3, ...
  kThreadsFar,  // first threads of all cores come first: core k has k and k + cores
};

// REQUIRES: a well-formed shape.
Topology machine(std::string_view shape, Numbering numbering = Numbering::kNeighbours);

// The machine without these CPUs, as if they were offline.
Topology without(const Topology& machine, const CpuSet& offline);

// REQUIRES: `list` is in kernel list format.
CpuSet cpus(std::string_view list);
NodeSet nodes(std::string_view list);

// A whole number from low to high, both included: the caller's source of chance.
using Chance = std::function<int(int low, int high)>;

// Numbers that look random, the same ones for the same seed; for tests that need so many
// that rapidcheck's would take too long.
Chance seeded_chance(std::uint64_t seed);

// The machine with other distances between its NUMA nodes: 10 to itself, else 11 to 40.
Topology with_random_distances(const Chance& chance, const Topology& machine);

// Some machine of at most about `most_cpus` CPUs: any nesting and numbering, and in
// every third one CPUs are offline, so that cores and caches differ in size.
Topology random_machine(const Chance& chance, int most_cpus);

// A subset of `from`: each CPU by itself, or whole cores, or runs.
CpuSet random_subset(const Chance& chance, const Topology& machine, const CpuSet& from);

}  // namespace corehold
