// SPDX-License-Identifier: Apache-2.0
//
// Merging: from the hints of all resources to the one set of NUMA nodes that a topology
// manager policy settles on. The answer is the kubelet's; it walks the product of all
// lists of hints, this searches for the best intersection directly.
#pragma once

#include <map>
#include <vector>

#include "hints/hint.h"
#include "hints/topology_options.h"
#include "topology/topology.h"

namespace corehold {

// The NUMA nodes of a machine and how far they are from each other.
struct NumaMap {
  NodeSet nodes{};
  std::vector<std::vector<std::int64_t>> distances{};  // by node id; may be empty
};

// Of the nodes that have CPUs.
NumaMap numa_map(const Topology& topology);

struct Merged {
  Hint hint{};
  bool admit = false;
  // Whether no better answer exists. False only when the search was cut short: where
  // distances between more than 16 nodes follow no block structure, or amounts are so
  // uneven that finding the best would be a puzzle. The answer is valid even then.
  bool exact = true;

  bool operator==(const Merged&) const = default;
};

Merged merge(const NumaMap& machine, const std::vector<ResourceHints>& resources,
             const TopologyOptions& options);

}  // namespace corehold
