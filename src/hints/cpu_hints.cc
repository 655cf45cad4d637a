// SPDX-License-Identifier: Apache-2.0
#include "hints/cpu_hints.h"

#include <algorithm>

namespace corehold {
namespace {

void prefer_few_sockets(const Topology& topology, Preference& preference) {
  const auto nodes = static_cast<int>(topology.nodes().size());
  const auto sockets = static_cast<int>(topology.sockets().size());
  const int nodes_per_socket = nodes / sockets;
  if (nodes_per_socket == 0) return;
  preference.sockets = (preference.size + nodes_per_socket - 1) / nodes_per_socket;
  preference.socket_nodes.reserve(topology.sockets().size());
  for (const auto& socket : topology.sockets()) {
    NodeSet inside;
    for (const Slot node : socket.nodes) inside.insert(topology.node(node).id);
    preference.socket_nodes.push_back(inside);
  }
}

}  // namespace

int fewest_nodes(const Topology& topology, int count) {
  std::vector<int> sizes;
  sizes.reserve(topology.nodes().size());
  for (const auto& node : topology.nodes()) sizes.push_back(node.size);
  std::sort(sizes.rbegin(), sizes.rend());
  int sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum += sizes[i];
    if (sum >= count) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(sizes.size());
}

HintFamily cpu_hints(const Topology& topology, const CpuSet& available, const CpuSet& reusable,
                     int count, SocketAlignment alignment) {
  HintFamily family;
  Threshold& threshold = family.threshold.emplace();
  Need need{.amount = count};
  need.piles.reserve(topology.nodes().size());
  for (const auto& node : topology.nodes()) {
    threshold.within.insert(node.id);
    if (node.cpus.intersects(reusable)) threshold.required.insert(node.id);
    need.piles.push_back(
        {.nodes = {node.id},
         .amount = node.cpus.count_common(available) + node.cpus.count_common(reusable)});
  }
  threshold.needs.push_back(std::move(need));
  family.preference.size = fewest_nodes(topology, count);
  if (alignment == SocketAlignment::kPreferred) prefer_few_sockets(topology, family.preference);
  return family;
}

}  // namespace corehold
