// SPDX-License-Identifier: Apache-2.0
//
// How many CPUs to take from each NUMA node so that they are spread evenly: the
// arithmetic of distribute-cpus-across-numa, on counts alone. Few nodes before
// many; within a number of nodes, the choice that leaves the free CPUs of all
// nodes most even (standard deviation, to three decimals as in the kubelet).
#pragma once

#include <optional>
#include <vector>

namespace corehold {

// One NUMA node with free CPUs, in the order in which nodes are considered.
struct SplitNode {
  int free = 0;
  int socket = 0;  // only compared with the others'; kSeveralSockets when it spans them
};

inline constexpr int kSeveralSockets = -1;

struct SplitRequest {
  int count = 0;       // CPUs wanted; a multiple of group_size
  int group_size = 1;  // CPUs are given in whole groups
  int fewest = 1;      // number of nodes to try first
  int most = 1;        // and last
  bool align_by_socket = false;
};

// What one node gives: `even` CPUs at once, then `extra_groups` groups one by one.
struct SplitShare {
  int node = 0;  // index into the list of nodes
  int even = 0;
  int extra_groups = 0;

  bool operator==(const SplitShare&) const = default;
};

// Up to this many nodes every way is weighed and the answer is exact. With more nodes
// (where the kubelet does not return in useful time), and with so uneven ones that
// there are too many ways to weigh, the nodes with most free CPUs are taken, and the
// extra groups come from those with most left: quick, and equally deterministic.
inline constexpr int kMaxWeighedNodes = 16;

// No value when no number of nodes in range can hold the request evenly.
std::optional<std::vector<SplitShare>> split_over_nodes(const std::vector<SplitNode>& nodes,
                                                        const SplitRequest& request);

}  // namespace corehold
