// SPDX-License-Identifier: Apache-2.0
//
// BlockTree: NUMA nodes grouped into blocks of blocks, where the distance between two
// nodes depends only on the smallest block that holds both: sockets with several nodes,
// cabinets of sockets. Real machines with many nodes are built like that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hints/mask.h"

namespace corehold {

class BlockTree {
 public:
  // Distance between two nodes, both ways together; between(a, a) is that to itself.
  using Between = std::function<std::int64_t(int, int)>;

  // No value: the distances are not those of blocks.
  static std::optional<BlockTree> make(Mask nodes, const Between& between);

  // The smallest total distance of a set that holds `kept` and `more` nodes of `rest`.
  // REQUIRES: more <= count(rest); the two do not overlap.
  std::int64_t smallest(Mask kept, Mask rest, int more) const;

 private:
  struct Block {
    Mask nodes = 0;
    std::int64_t apart = 0;               // between its children; of a single node, to itself
    std::vector<std::size_t> children{};  // positions in blocks_; none: a single node
    std::size_t row = 0;                  // where its sums begin in what smallest() works on
  };

  BlockTree() = default;
  bool grow(Mask nodes, const Between& between);  // appends the block of `nodes` last
  // Fills the block's row, by number of chosen nodes, with the smallest total inside it. The
  // rows of its children are filled.
  void sum_up(const Block& block, Mask kept, Mask rest, std::vector<std::int64_t>& rows) const;

  std::vector<Block> blocks_;  // children before parents
  std::size_t rows_size_ = 0;
};

}  // namespace corehold
