// SPDX-License-Identifier: Apache-2.0
#include "hints/block_tree.h"

#include <algorithm>
#include <array>
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
  for (Block& block : tree.blocks_) {
    block.row = tree.rows_size_;
    tree.rows_size_ += static_cast<std::size_t>(count(block.nodes)) + 1;
  }
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

void BlockTree::sum_up(const Block& block, Mask kept, Mask rest,
                       std::vector<std::int64_t>& rows) const {
  std::int64_t* const sums = rows.data() + block.row;
  std::fill_n(sums, count(block.nodes) + 1, kImpossible);
  sums[0] = 0;
  if (block.children.empty()) {
    if ((block.nodes & (kept | rest)) != 0) sums[1] = block.apart;
    if ((block.nodes & kept) != 0) sums[0] = kImpossible;
    return;
  }
  int chosen = 0;  // at most, so far
  std::array<std::int64_t, 65> joined{};
  for (const std::size_t position : block.children) {
    const Block& child = blocks_[position];
    const int more = count(child.nodes & (kept | rest));
    if (more == 0) continue;
    const std::int64_t* const inside = rows.data() + child.row;
    std::fill_n(joined.begin(), chosen + more + 1, kImpossible);
    for (int a = 0; a <= chosen; ++a) {
      if (sums[a] >= kImpossible) continue;
      for (int b = 0; b <= more; ++b) {
        std::int64_t& entry = joined[static_cast<std::size_t>(a + b)];
        entry = std::min(entry, sums[a] + inside[b] + a * b * block.apart);
      }
    }
    chosen += more;
    for (int a = 0; a <= chosen; ++a) {
      sums[a] = std::min(joined[static_cast<std::size_t>(a)], kImpossible);
    }
  }
}

std::int64_t BlockTree::smallest(Mask kept, Mask rest, int more) const {
  std::vector<std::int64_t> rows(rows_size_);
  for (const Block& block : blocks_) sum_up(block, kept, rest, rows);
  const int chosen = count(kept) + more;
  CHECK(chosen <= count(blocks_.back().nodes));
  return rows[blocks_.back().row + static_cast<std::size_t>(chosen)];
}

}  // namespace corehold
