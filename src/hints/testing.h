// SPDX-License-Identifier: Apache-2.0
//
// Random merging problems for tests: machines with any number of NUMA nodes and
// resources of every kind that providers come up with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hints/merge.h"

namespace corehold {

// The same seed always rolls the same numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t roll();
  // 0 to sides-1. REQUIRES: sides > 0.
  int roll(int sides);
  bool one_in(int chances) { return roll(chances) == 0; }

 private:
  std::uint64_t state_;
};

struct MergeCase {
  NumaMap machine{};
  std::vector<ResourceHints> resources{};
  TopologyOptions options{};
};

enum class Distances { kAny, kBlocks };

// `lists`: whether some resources may come as bare lists of hints.
enum class Lists { kNone, kSome };

MergeCase random_case(Dice& dice, int nodes, int resources, Distances distances, Lists lists);

// The hints on nodes 0 to nodes-1 as "preferred; others", each a list of nodes, ascending as
// words; "not asked" without any resource, "any" when the first does not care.
std::string describe(const std::vector<ResourceHints>& hints, int nodes);

// For messages of failed tests.
std::string describe(const MergeCase& test);
std::string describe(const Merged& merged);

}  // namespace corehold
