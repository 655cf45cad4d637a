// SPDX-License-Identifier: Apache-2.0
//
// How far apart the NUMA nodes of a set are: the sum of all distances between them, each
// way and to themselves. Sets of one size with the smaller sum have the smaller average,
// which is what prefer-closest-numa-nodes compares.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hints/block_tree.h"
#include "hints/mask.h"

namespace corehold {

class Closeness {
 public:
  // `distances` by node id, both ways; missing rows or columns count as 0.
  Closeness(const std::vector<std::vector<std::int64_t>>& distances, Mask nodes);

  std::int64_t total(Mask mask) const;

  // Whether distances follow blocks: any two nodes of different blocks are equally far
  // apart, and so on inside each block. Then bound() is what can really be had.
  bool is_blocky() const { return tree_.has_value(); }

  // No set that holds `kept` and `more` nodes of `rest` has a smaller total.
  std::int64_t bound(Mask kept, Mask rest, int more) const;

 private:
  static std::size_t place(int a, int b) {
    return static_cast<std::size_t>(a) * 64 + static_cast<std::size_t>(b);
  }
  std::int64_t between(int a, int b) const { return between_[place(a, b)]; }

  Mask nodes_;
  std::vector<std::int64_t> between_;  // both ways; to itself: once
  std::optional<BlockTree> tree_;
};

}  // namespace corehold
