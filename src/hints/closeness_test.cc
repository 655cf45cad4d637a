// SPDX-License-Identifier: Apache-2.0
#include "hints/closeness.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "hints/testing.h"

namespace corehold {
namespace {

// The smallest total of any set that holds `kept` and `more` nodes of `rest`.
std::int64_t smallest_total(const Closeness& closeness, Mask kept, Mask rest, int more) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  Mask chosen = rest;
  do {
    if (count(chosen) == more) least = std::min(least, closeness.total(kept | chosen));
    chosen = (chosen - 1) & rest;
  } while (chosen != rest);
  return least;
}

TEST(Closeness, SeesBlocksWhereThereAre) {
  // Pairs at 12, pairs of pairs at 20.
  const Closeness blocks({{10, 12, 20, 20}, {12, 10, 20, 20}, {20, 20, 10, 12}, {20, 20, 12, 10}},
                         0xf);
  EXPECT_TRUE(blocks.is_blocky());
  // A ring: neighbours at 12, the opposite one at 20.
  const Closeness ring({{10, 12, 20, 12}, {12, 10, 12, 20}, {20, 12, 10, 12}, {12, 20, 12, 10}},
                       0xf);
  EXPECT_FALSE(ring.is_blocky());
  EXPECT_EQ(ring.total(0b0011), 10 + 10 + 2 * 12);
  EXPECT_EQ(ring.total(0b0101), 10 + 10 + 2 * 20);
}

TEST(Closeness, BoundIsReachedOnBlocksAndNeverTooHighElsewhere) {
  Dice dice(3);
  for (int i = 0; i < 1000; ++i) {
    const auto distances = dice.one_in(2) ? Distances::kAny : Distances::kBlocks;
    const MergeCase test = random_case(dice, 2 + dice.roll(7), 1, distances, Lists::kNone);
    const Mask nodes = test.machine.nodes.word();
    const Closeness closeness(test.machine.distances, nodes);
    const Mask kept = nodes & dice.roll() & dice.roll();
    const Mask rest = nodes & ~kept & dice.roll();
    const int more = dice.roll(count(rest) + 1);
    const std::int64_t least = smallest_total(closeness, kept, rest, more);
    const std::int64_t bound = closeness.bound(kept, rest, more);
    ASSERT_LE(bound, least);
    ASSERT_TRUE(bound == least || !closeness.is_blocky());
  }
}

}  // namespace
}  // namespace corehold
