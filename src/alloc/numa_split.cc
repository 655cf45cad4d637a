// SPDX-License-Identifier: Apache-2.0
#include "alloc/numa_split.h"

#include <algorithm>
#include <map>

#include "alloc/split_search.h"

namespace corehold {
namespace {

int group_count(const SplitNode& node, int group_size) { return node.free / group_size; }

// `count` of the nodes `among`, those with most free groups, the extra groups taken
// from whoever has most left. Empty when they cannot hold the request.
std::vector<SplitShare> split_over_largest(const std::vector<SplitNode>& nodes,
                                           std::vector<int> among, const SplitRequest& request,
                                           int count) {
  const int group = request.group_size;
  const auto groups_of = [&](int index) {
    return group_count(nodes[static_cast<std::size_t>(index)], group);
  };
  if (static_cast<int>(among.size()) < count) return {};
  std::stable_sort(among.begin(), among.end(),
                   [&](int a, int b) { return groups_of(a) > groups_of(b); });
  among.resize(static_cast<std::size_t>(count));
  int even = request.count / count / group;
  int held = 0;
  for (const int index : among) held += groups_of(index);
  if (held * group < request.count) return {};
  if (groups_of(among.back()) < even) {
    if (!request.align_by_socket) return {};
    even = groups_of(among.back());
  }
  std::vector<SplitShare> shares;
  shares.reserve(among.size());
  for (const int index : among) {
    shares.push_back({.node = index, .even = even * group, .extra_groups = 0});
  }
  const auto left_of = [&](const SplitShare& share) {
    return groups_of(share.node) - even - share.extra_groups;
  };
  for (int extra = request.count / group - even * count; extra > 0; --extra) {
    const auto fullest = std::max_element(
        shares.begin(), shares.end(),
        [&](const SplitShare& a, const SplitShare& b) { return left_of(a) < left_of(b); });
    ++fullest->extra_groups;
  }
  return shares;
}

// Without weighing every way: with align_by_socket the lowest socket that can hold the
// request alone, else all nodes.
std::vector<SplitShare> split_unweighed(const std::vector<SplitNode>& nodes,
                                        const SplitRequest& request, int count) {
  std::vector<int> all;
  std::map<int, std::vector<int>> by_socket;
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) {
    all.push_back(index);
    by_socket[nodes[static_cast<std::size_t>(index)].socket].push_back(index);
  }
  if (request.align_by_socket) {
    for (const auto& [socket, among] : by_socket) {
      if (socket == kSeveralSockets) continue;
      auto shares = split_over_largest(nodes, among, request, count);
      if (!shares.empty()) return shares;
    }
  }
  return split_over_largest(nodes, all, request, count);
}

std::vector<SplitShare> split_over(const std::vector<SplitNode>& nodes, const SplitRequest& request,
                                   int count) {
  if (nodes.size() <= kMaxWeighedNodes) {
    SplitSearch search(nodes, request, count);
    auto shares = search.run();
    if (search.is_complete()) return shares;
  }
  return split_unweighed(nodes, request, count);
}

}  // namespace

std::optional<std::vector<SplitShare>> split_over_nodes(const std::vector<SplitNode>& nodes,
                                                        const SplitRequest& request) {
  const int number = static_cast<int>(nodes.size());
  for (int count = request.fewest; count <= std::min(request.most, number); ++count) {
    auto shares = split_over(nodes, request, count);
    if (!shares.empty()) return shares;
  }
  return std::nullopt;
}

}  // namespace corehold
