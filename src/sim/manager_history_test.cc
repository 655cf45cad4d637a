// SPDX-License-Identifier: Apache-2.0
//
// Random histories of a million commands and more: the promises hold after every one.
// COREHOLD_SEED in the name of a failure tells which story to tell again.
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/story.h"

namespace corehold {
namespace {

constexpr std::uint64_t kCommands = 1'000'000;
constexpr int kActs = 600;  // of one story

TEST(ManagerHistory, PromisesHoldAfterEveryCommand) {
  std::uint64_t commands = 0;
  std::uint64_t effects = 0;
  std::uint64_t starts = 0;
  std::uint64_t stories = 0;
  for (std::uint64_t seed = 1; commands < kCommands; ++seed) {
    Dice dice(seed);
    const StoryNode node = random_node(dice, dice.chance(85) ? 12 : 48);
    Story story(node, seed, {});
    for (int act = 0; act < kActs; ++act) {
      ASSERT_TRUE(story.act()) << "promise broken, story " << seed << ", act " << act << ": "
                               << story.world().breaches().front();
    }
    const std::vector<std::string> wrong = story.finish();
    ASSERT_TRUE(story.world().is_sound())
        << "promise broken, story " << seed << ": " << story.world().breaches().front();
    ASSERT_TRUE(wrong.empty()) << "promise broken, story " << seed << ": " << wrong.front();
    commands += story.world().commands();
    effects += story.world().effects();
    starts += story.world().machine().starts();
    ++stories;
  }
  std::printf("%s\n", fmt::format("{} commands, {} effects, {} containers started in {} stories",
                                  commands, effects, starts, stories)
                          .c_str());
}

}  // namespace
}  // namespace corehold
