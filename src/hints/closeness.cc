// SPDX-License-Identifier: Apache-2.0
#include "hints/closeness.h"

#include <algorithm>
#include <array>

namespace corehold {
namespace {

std::int64_t distance(const std::vector<std::vector<std::int64_t>>& distances, int a, int b) {
  const auto row = static_cast<std::size_t>(a);
  const auto column = static_cast<std::size_t>(b);
  if (row >= distances.size() || column >= distances[row].size()) return 0;
  return distances[row][column];
}

}  // namespace

Closeness::Closeness(const std::vector<std::vector<std::int64_t>>& distances, Mask nodes)
    : nodes_(nodes), between_(std::size_t{64} * 64) {
  for_each_node(nodes, [&](int a) {
    for_each_node(nodes, [&](int b) {
      const std::int64_t back = a == b ? 0 : distance(distances, b, a);
      between_[place(a, b)] = distance(distances, a, b) + back;
    });
  });
  tree_ = BlockTree::make(nodes, [this](int a, int b) { return between(a, b); });
}

std::int64_t Closeness::total(Mask mask) const {
  std::int64_t sum = 0;
  for_each_node(mask & nodes_, [&](int a) {
    for_each_node(mask & nodes_ & ((bit_of(a) << 1) - 1), [&](int b) { sum += between(a, b); });
  });
  return sum;
}

std::int64_t Closeness::bound(Mask kept, Mask rest, int more) const {
  if (tree_) return tree_->smallest(kept, rest, more);
  // Every chosen node costs what it is away from itself and the kept ones, and half of
  // what it is away from the nearest others that could be chosen with it.
  std::array<std::int64_t, 64> costs{};
  int candidates = 0;
  for_each_node(rest, [&](int a) {
    std::int64_t twice = 2 * between(a, a);
    for_each_node(kept, [&](int b) { twice += 2 * between(a, b); });
    std::array<std::int64_t, 64> others{};
    int other_count = 0;
    for_each_node(rest & ~bit_of(a),
                  [&](int b) { others[static_cast<std::size_t>(other_count++)] = between(a, b); });
    std::sort(others.begin(), others.begin() + other_count);
    for (int i = 0; i < std::min(more - 1, other_count); ++i) {
      twice += others[static_cast<std::size_t>(i)];
    }
    costs[static_cast<std::size_t>(candidates++)] = twice;
  });
  std::sort(costs.begin(), costs.begin() + candidates);
  std::int64_t twice = 0;
  for (int i = 0; i < std::min(more, candidates); ++i) twice += costs[static_cast<std::size_t>(i)];
  return total(kept) + (twice + 1) / 2;
}

}  // namespace corehold
