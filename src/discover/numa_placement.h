// SPDX-License-Identifier: Apache-2.0
//
// Which NUMA node owns each CPU. Usually plain: every CPU is local to one node. On
// machines with two kinds of memory (HBM or NVDIMM beside DRAM) hwloc shows several
// nodes as local to the same CPUs, while for the kernel and the kubelet only one of
// them has CPUs. The owner is then the ordinary memory, the narrowest such node, the
// first in hwloc's order; the others are memory nodes.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold {

// A NUMA node and the CPUs it is local to.
struct LocalNode {
  enum class Memory { kOrdinary, kSpecial };  // special: HBM, MCDRAM, NVM, GPU memory, ...

  NodeId id;
  CpuSet cpus;
  Memory memory = Memory::kOrdinary;
};

// What hwloc's subtype of a node says: "" and "DRAM" are ordinary.
LocalNode::Memory memory_named(std::string_view subtype);

struct NumaPlacement {
  std::map<CpuId, NodeId> node_of{};
  NodeSet memory_nodes{};
};

// `nodes` in hwloc's order. CPUs that no node is local to are absent from the answer.
// Fails with kInvalid when two nodes have the same id, or overlap without one being
// inside the other (naming a CPU in both), or when one that is inside another leaves
// the rest of it with no node but the outer (that CPU would have two).
// REQUIRES: NodeSet can hold every id.
Result<NumaPlacement> place_in_nodes(const std::vector<LocalNode>& nodes);

}  // namespace corehold
