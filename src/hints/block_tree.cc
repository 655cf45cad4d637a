// SPDX-License-Identifier: Apache-2.0
#include "hints/block_tree.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace corehold {
namespace {

constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

// The nodes that can be reached from `first` in steps shorter than `apart`.
Mask component(Mask nodes, int first, std::int64_t apart, const BlockTree::Between& between) {
  Mask found = bit_of(first);
  for (Mask todo = found; todo != 0;) {
    const int node = lowest(todo);
    todo &= todo - 1;
    for_each_node(nodes & ~found, [&](int other) {
      if (between(node, other) >= apart) return;
      found |= bit_of(other);
      todo |= bit_of(other);
    });
  }
  return found;
}

std::int64_t widest(Mask nodes, const BlockTree::Between& between) {
  std::int64_t apart = std::numeric_limits<std::int64_t>::min();
  for_each_node(nodes, [&](int a) {
    for_each_node(nodes & ~bit_of(a), [&](int b) { apart = std::max(apart, between(a, b)); });
  });
  return apart;
}

}  // namespace

std::optional<BlockTree> BlockTree::make(Mask nodes, const Between& between) {
  BlockTree tree;
  if (nodes == 0 || !tree.grow(nodes, between)) return std::nullopt;
  return tree;
}

bool BlockTree::grow(Mask nodes, const Between& between) {
  if (count(nodes) == 1) {
    blocks_.push_back({.nodes = nodes, .apart = between(lowest(nodes), lowest(nodes))});
    return true;
  }
  Block block{.nodes = nodes, .apart = widest(nodes, between)};
  for (Mask left = nodes; left != 0;) {
    const Mask child = component(nodes, lowest(left), block.apart, between);
    if (child == nodes || !grow(child, between)) return false;
    block.children.push_back(blocks_.size() - 1);
    left &= ~child;
  }
  blocks_.push_back(std::move(block));
  return true;
}

std::vector<std::int64_t> BlockTree::totals(const Block& block, Mask kept, Mask rest) const {
  if (block.children.empty()) {
    if ((block.nodes & kept) != 0) return {kImpossible, block.apart};
    if ((block.nodes & rest) != 0) return {0, block.apart};
    return {0};
  }
  std::vector<std::int64_t> sums{0};
  for (const std::size_t position : block.children) {
    const Block& child = blocks_[position];
    if ((child.nodes & (kept | rest)) == 0) continue;
    const std::vector<std::int64_t> inside = totals(child, kept, rest);
    std::vector<std::int64_t> joined(sums.size() + inside.size() - 1, kImpossible);
    for (std::size_t a = 0; a < sums.size(); ++a) {
      if (sums[a] >= kImpossible) continue;
      for (std::size_t b = 0; b < inside.size(); ++b) {
        if (inside[b] >= kImpossible) continue;
        const auto pairs = static_cast<std::int64_t>(a * b);
        joined[a + b] = std::min(joined[a + b], sums[a] + inside[b] + pairs * block.apart);
      }
    }
    sums = std::move(joined);
  }
  return sums;
}

std::int64_t BlockTree::smallest(Mask kept, Mask rest, int more) const {
  const std::vector<std::int64_t> sums = totals(blocks_.back(), kept, rest);
  const auto chosen = static_cast<std::size_t>(count(kept) + more);
  CHECK(chosen < sums.size());
  return sums[chosen];
}

}  // namespace corehold
