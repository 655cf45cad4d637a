// SPDX-License-Identifier: Apache-2.0
#include "alloc/resize_testing.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace corehold {

Widths::Widths(const Topology& topology, const ResizeOptions& options)
    : topology_(topology),
      by_socket_(options.take.align_by_socket &&
                 topology.sockets().size() <= topology.nodes().size()),
      depends_on_cores_(options.whole_cores && !topology.cores_are_alike()) {}

Widths::Width Widths::of(const NodeSet& nodes) const {
  if (!by_socket_) return {0, nodes.size()};
  const CpuSet cpus = topology_.cpus_in(nodes);
  const auto sockets =
      std::count_if(topology_.sockets().begin(), topology_.sockets().end(),
                    [&](const auto& socket) { return socket.cpus.intersects(cpus); });
  return {static_cast<int>(sockets), nodes.size()};
}

Widths::Width Widths::least(const CpuSet& base, const CpuSet& pool, int count) const {
  std::vector<int> room;
  unsigned kept = 0;
  for (const auto& node : topology_.nodes()) {
    if (node.cpus.intersects(base)) kept |= 1U << room.size();
    room.push_back(node.cpus.count_common(pool));
  }
  constexpr int kMost = std::numeric_limits<int>::max();
  Width least{kMost, kMost};
  for (unsigned bits = 0; bits < (1U << room.size()); ++bits) {
    if ((bits & kept) != kept) continue;
    int sum = base.size();
    for (unsigned left = bits; left != 0; left &= left - 1) {
      sum += room[static_cast<std::size_t>(std::countr_zero(left))];
    }
    if (sum < count || (!by_socket_ && std::popcount(bits) >= least.second)) continue;
    NodeSet nodes;
    for (unsigned left = bits; left != 0; left &= left - 1) {
      nodes.insert(topology_.node(std::countr_zero(left)).id);
    }
    least = std::min(least, of(nodes));
  }
  return least;
}

int Widths::nodes_when_idle(int count) const {
  std::vector<int> sizes;
  for (const auto& node : topology_.nodes()) sizes.push_back(node.size);
  std::sort(sizes.rbegin(), sizes.rend());
  int nodes = 0;
  for (std::size_t i = 0; i < sizes.size() && count > 0; ++i, ++nodes) count -= sizes[i];
  return nodes;
}

}  // namespace corehold
