// SPDX-License-Identifier: Apache-2.0
//
// A Party: one resource in the search for common NUMA nodes, with what each node holds for
// it and how much of that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "hints/hint.h"
#include "hints/mask.h"

namespace corehold {

// A Threshold prepared for many questions.
class Party {
 public:
  explicit Party(const Threshold& threshold);

  Mask required() const { return required_; }
  Mask within() const { return within_; }
  bool admits(Mask mask) const;
  // Narrows the party to what `other` admits as well.
  void join(const Party& other);
  void keep_within(Mask mask) { within_ &= mask; }

  // One Need: what each node holds alone, and piles that several nodes share.
  struct Stock {
    std::array<std::int64_t, 64> alone{};
    std::vector<std::pair<Mask, std::int64_t>> shared{};
    std::int64_t needed = 0;
    std::vector<int> lightest_first{};  // nodes of `within` by what they hold alone

    std::int64_t reach(Mask mask) const;
    // What is no longer within reach of `has` without the node.
    std::int64_t loss(Mask has, int node) const;
    // How many nodes of `free` could be given up at most, the lightest first, up to `most`,
    // by one who can lose so much.
    int most_droppable(Mask free, std::int64_t slack, int most) const;

    // The lightest nodes of a set: their sum, the heaviest of them and the next heavier one.
    struct Lightest {
      Mask nodes = 0;
      std::int64_t sum = 0;
      std::int64_t heaviest = 0;
      std::int64_t next = std::numeric_limits<std::int64_t>::max() / 4;
    };
    Lightest lightest(Mask of, int how_many) const;
  };
  const std::vector<Stock>& stocks() const { return stocks_; }
  // Nodes that share a pile with others.
  Mask shared_nodes() const { return shared_nodes_; }

 private:
  Mask required_ = 0;
  Mask within_ = 0;
  Mask shared_nodes_ = 0;
  std::vector<Stock> stocks_;
};

}  // namespace corehold
