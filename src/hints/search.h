// SPDX-License-Identifier: Apache-2.0
//
// The search behind merging. Several parties each hold a set of NUMA nodes that must
// stay large enough for their needs; what they have in common is the merged answer. So a
// node is out of the answer as soon as one party does without it, and the question is
// which party gives up which nodes. Found is the best answer of a given size: the closest
// nodes, if distances count, else and among equals the lowest-numbered.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "hints/closeness.h"
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

// How much work searches may still do; shared by all searches for one answer.
struct Effort {
  int left = 0;
  bool spent = false;  // some search was cut short

  // False when there is none left.
  bool use(int amount);
};

// The answer must touch exactly `count` of the sockets.
struct Span {
  std::vector<Mask> sockets{};
  int count = 0;
};

struct SearchProblem {
  std::vector<Party> parties{};
  Mask pool = 0;                         // the answer is part of it
  int size = 0;                          // of the answer
  const Closeness* closeness = nullptr;  // null: distances do not count
  std::optional<Span> span{};            // only with a single party
};

// No value: no answer has this size, or, when effort is spent, none was found.
// REQUIRES: pool lies within all parties, each of which admits all it may have.
std::optional<Mask> find_best(const SearchProblem& problem, Effort& effort);

}  // namespace corehold
