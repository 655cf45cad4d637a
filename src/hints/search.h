// SPDX-License-Identifier: Apache-2.0
//
// The search behind merging. Several parties each hold a set of NUMA nodes that must
// stay large enough for their needs; what they have in common is the merged answer. So a
// node is out of the answer as soon as one party does without it, and the question is
// which party gives up which nodes. Found is the best answer of a given size: the closest
// nodes, if distances count, else and among equals the lowest-numbered.
#pragma once

#include <optional>
#include <vector>

#include "hints/closeness.h"
#include "hints/mask.h"
#include "hints/party.h"
#include "hints/span.h"

namespace corehold {

// How much work searches may still do; shared by all searches for one answer.
struct Effort {
  int left = 0;
  bool spent = false;  // some search was cut short

  // False when there is none left.
  bool use(int amount);
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

// The size of the smallest set that the party admits; no value: it admits none. Too large
// rather than too small when effort is spent.
std::optional<int> narrowest(const Party& party, Effort& effort);

}  // namespace corehold
