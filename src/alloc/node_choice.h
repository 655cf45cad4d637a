// SPDX-License-Identifier: Apache-2.0
//
// NodeChoice: over which NUMA nodes a set of CPUs is widened. The nodes it has CPUs on
// stay. If they have room for the CPUs wanted, no other comes in; otherwise as few more as
// can hold them, and of these the nearest. Works on counts alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "topology/topology.h"

namespace corehold {

// NUMA nodes as bits, by their slots; a machine has at most 64.
using NodeSlots = std::uint64_t;

struct NodeWish {
  std::vector<int> base{};  // by slot: CPUs the set has there
  std::vector<int> room{};  // by slot: CPUs that could be added
  int wanted = 0;           // CPUs to add
  int group_size = 1;       // evenly only: CPUs are added in groups of so many
  // Of equally many nodes, those over which the CPUs can be split most evenly.
  bool evenly = false;
  // As few sockets before as few nodes. Without effect on machines with more sockets
  // than NUMA nodes.
  bool align_by_socket = false;
  // Whether the nodes can really serve, beyond having room. Not given: they can.
  std::function<bool(NodeSlots)> suits{};
};

class NodeChoice {
 public:
  // Up to this many ways are compared and the nearest nodes are found for certain; of
  // more ways one near each other is picked node by node. The number of nodes is the
  // smallest possible either way, unless `suits` refuses sets.
  static constexpr std::int64_t kMostWays = 2048;

  // `topology` must outlive the choice.
  NodeChoice(const Topology& topology, NodeWish wish);

  // No value: there is not enough room anywhere.
  std::optional<NodeSlots> run() const;

 private:
  // What is compared between sets of equally many nodes; less is better.
  struct Cost {
    std::int64_t unevenness = 0;
    std::int64_t distance = 0;
    int sockets = 0;

    auto operator<=>(const Cost&) const = default;
  };
  struct Best {
    NodeSlots nodes = 0;
    Cost cost{};
  };

  int room(NodeSlots nodes) const;
  bool suffices(NodeSlots nodes) const;
  Cost cost(NodeSlots nodes) const;
  std::int64_t distance(NodeSlots nodes) const;
  std::int64_t between(int from, int to) const;

  std::optional<NodeSlots> run_by_socket() const;
  std::optional<Best> widen_to_sockets(const std::vector<int>& sockets) const;
  std::optional<NodeSlots> run_within(NodeSlots allowed) const;
  std::optional<NodeSlots> nearest(const std::vector<int>& candidates, int more) const;
  NodeSlots pick_one_by_one(const std::vector<int>& candidates, int more) const;

  const Topology& topology_;
  NodeWish wish_;
  int count_ = 0;                                  // NUMA nodes of the machine
  NodeSlots kept_ = 0;                             // those the set has CPUs on
  mutable std::vector<std::int64_t> distances_{};  // filled when first asked for
};

// How many groups each of `nodes` adds so that all have as equal a number of CPUs as can
// be; by slot. No value when the wanted number is no multiple of the group, or there is
// not enough room in whole groups.
std::optional<std::vector<int>> even_groups(const NodeWish& wish, NodeSlots nodes);

}  // namespace corehold
