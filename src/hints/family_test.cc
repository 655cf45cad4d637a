// SPDX-License-Identifier: Apache-2.0
#include "hints/family.h"

#include <gtest/gtest.h>

#include "hints/cpu_hints.h"
#include "hints/reference.h"
#include "hints/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

std::string shown(const std::vector<Hint>& hints) {
  std::string text;
  for (const Hint& hint : hints) {
    text += (text.empty() ? "" : " ") + (hint.nodes ? "{" + hint.nodes->str() + "}" : "any") +
            (hint.preferred ? "*" : "");
  }
  return text;
}

TEST(CpuHints, PreferTheFewestNodesAnIdleMachineWouldNeed) {
  const Topology machine = corehold::machine("2s2n4c");
  EXPECT_EQ(
      shown(list_hints(cpu_hints(machine, cpus("2-15"), {}, 4, SocketAlignment::kIgnored), 6)),
      "{1}* {2}* {3}* {0-1} {0,2} {0,3}");
  EXPECT_EQ(
      shown(list_hints(cpu_hints(machine, cpus("2-3,8-9"), {}, 4, SocketAlignment::kIgnored))),
      "{0,2} {0-2} {0,2-3} {0-3}");
}

TEST(CpuHints, PreferWholeSocketsWhereAsked) {
  const Topology machine = corehold::machine("2s2n4c");
  EXPECT_EQ(
      shown(list_hints(cpu_hints(machine, cpus("2-15"), {}, 4, SocketAlignment::kPreferred))),
      "{1}* {2}* {3}* {0-1}* {0,2} {0,3} {1-2} {1,3} {2-3}* {0-2} {0-1,3} {0,2-3} {1-3} {0-3}");
}

TEST(CpuHints, NeedTheNodesOfReusableCpus) {
  const Topology machine = corehold::machine("2s2n4c");
  EXPECT_EQ(shown(list_hints(
                cpu_hints(machine, cpus("8-11"), cpus("0-1"), 2, SocketAlignment::kIgnored), 3)),
            "{0}* {0-1} {0,2}");
}

TEST(CpuHints, AreNoneWhereTooFewAreFree) {
  const Topology machine = corehold::machine("2s2n4c");
  const HintFamily family = cpu_hints(machine, cpus("0-3"), {}, 5, SocketAlignment::kIgnored);
  EXPECT_TRUE(is_empty(family));
  EXPECT_TRUE(list_hints(family).empty());
  EXPECT_FALSE(narrowest(*family.threshold));
}

TEST(HintFamily, CountsAPileOnceHoweverManyOfItsNodesAreReached) {
  Threshold threshold{.within = nodes("0-3")};
  threshold.needs.push_back({.piles = {{.nodes = nodes("0-1"), .amount = 1},
                                       {.nodes = nodes("1-2"), .amount = 1},
                                       {.nodes = {}, .amount = 5}},
                             .amount = 2});
  EXPECT_EQ(shown(list_hints({.threshold = threshold, .preference = {.size = 1}})),
            "{1}* {0-1} {0,2} {1-2} {1,3} {0-2} {0-1,3} {0,2-3} {1-3} {0-3}");
  EXPECT_EQ(narrowest(threshold), 1);
}

TEST(HintFamily, ListedAndOpenSetsComeInOneOrder) {
  HintFamily family;
  family.listed = {{.nodes = nodes("3"), .preferred = true}};
  family.threshold = Threshold{.within = nodes("0-1")};
  EXPECT_EQ(shown(list_hints(family)), "{0} {1} {3}* {0-1}");
  EXPECT_EQ(preference_for(family, nodes("3")), true);
  EXPECT_EQ(preference_for(family, nodes("0")), false);
  EXPECT_EQ(preference_for(family, nodes("0,3")), std::nullopt);
}

TEST(HintFamily, ListsWhatTryingEverySubsetFinds) {
  Dice dice(5);
  for (int i = 0; i < 3000; ++i) {
    const MergeCase test = random_case(dice, 1 + dice.roll(7), 1, Distances::kBlocks, Lists::kNone);
    const auto& family = test.resources.front().family;
    if (!family) continue;
    std::vector<Hint> expected = reference_list(*family, test.machine.nodes);
    const std::vector<Hint> listed = list_hints(*family);
    ASSERT_EQ(listed.size(), expected.size()) << describe(test);
    for (const Hint& hint : listed) {
      ASSERT_NE(std::find(expected.begin(), expected.end(), hint), expected.end());
      ASSERT_TRUE(preference_for(*family, *hint.nodes).has_value());
    }
    if (family->threshold) {
      int fewest = 0;
      for (const Hint& hint :
           reference_list({.threshold = family->threshold}, test.machine.nodes)) {
        if (fewest == 0 || hint.nodes->size() < fewest) fewest = hint.nodes->size();
      }
      ASSERT_EQ(narrowest(*family->threshold).value_or(0), fewest) << describe(test);
    }
  }
}

// 2^64 sets, of which the first few are wanted.
TEST(HintFamily, ListsAFewOfVeryMany) {
  const Topology large = machine("8s8n2c");
  const HintFamily family = cpu_hints(large, large.cpus(), {}, 3, SocketAlignment::kIgnored);
  EXPECT_EQ(shown(list_hints(family, 3)), "{0-1}* {0,2}* {0,3}*");
}

}  // namespace
}  // namespace corehold
