// SPDX-License-Identifier: Apache-2.0
//
// merge() against the brute-force reference on small machines, and against properties of
// the answer on large ones.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "hints/family.h"
#include "hints/reference.h"
#include "hints/testing.h"

namespace corehold {
namespace {

constexpr int kCases = 100'000;
constexpr std::int64_t kMostCombinations = 20'000;

HintLists lists_of(const MergeCase& test) {
  HintLists lists;
  for (const ResourceHints& resource : test.resources) {
    lists.emplace_back();
    if (resource.family) lists.back() = reference_list(*resource.family, test.machine.nodes);
  }
  return lists;
}

// 1 to 6 nodes, 1 to 4 resources, every policy and option. Cases with too many combinations
// to walk are drawn again; how many of each size were walked is printed.
TEST(Merge, AgreesWithBruteForceOnRandomCases) {
  Dice dice(20'261'116);
  std::array<std::array<int, 5>, 7> walked{};
  int preferred = 0;
  int admitted = 0;
  std::int64_t combinations = 0;
  for (int done = 0; done < kCases;) {
    const int nodes = 1 + dice.roll(6);
    const int resources = 1 + dice.roll(4);
    const MergeCase test =
        random_case(dice, nodes, resources, dice.one_in(2) ? Distances::kAny : Distances::kBlocks,
                    Lists::kSome);
    const HintLists lists = lists_of(test);
    const std::int64_t product = count_combinations(lists, kMostCombinations);
    if (product == kMostCombinations) continue;
    const Merged expected = reference_merge(test.machine, lists, test.options);
    const Merged actual = merge(test.machine, test.resources, test.options);
    ASSERT_EQ(actual, expected) << "case " << done << "\n"
                                << describe(test) << "expected " << describe(expected)
                                << "\nactual   " << describe(actual);
    ++done;
    ++walked[static_cast<std::size_t>(nodes)][static_cast<std::size_t>(resources)];
    combinations += product;
    preferred += expected.hint.preferred ? 1 : 0;
    admitted += expected.admit ? 1 : 0;
  }
  for (std::size_t nodes = 1; nodes <= 6; ++nodes) {
    for (std::size_t resources = 1; resources <= 4; ++resources) {
      EXPECT_GT(walked[nodes][resources], kCases / 200) << nodes << " nodes, " << resources;
    }
  }
  EXPECT_GT(preferred, kCases / 10);
  EXPECT_GT(kCases - admitted, kCases / 10);
  std::printf("%d cases, %lld combinations, %d preferred, %d admitted\n", kCases,
              static_cast<long long>(combinations), preferred, admitted);
}

}  // namespace
}  // namespace corehold
