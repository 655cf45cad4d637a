// SPDX-License-Identifier: Apache-2.0
//
// Random histories of a million commands and more on nodes where somebody else runs the
// containers: the promises hold after every command, whatever gets lost. The number of the story in
// a failure tells which story to tell again.
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/asking_story.h"

namespace corehold {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kCommands = 150'000;  // the million is for builds without sanitizers
#else
constexpr std::uint64_t kCommands = 1'000'000;
#endif
constexpr int kActs = 800;  // of one story

TEST(AskingHistory, PromisesHoldAfterEveryCommand) {
  std::uint64_t commands = 0;
  std::uint64_t stories = 0;
  std::uint64_t questions = 0;
  std::uint64_t grants = 0;
  std::uint64_t connections = 0;
  std::uint64_t crashes = 0;
  std::uint64_t starts = 0;
  for (std::uint64_t seed = 1; commands < kCommands; ++seed) {
    Dice dice(seed);
    StoryNode node = random_node(dice, dice.chance(85) ? 12 : 48);
    let_somebody_else_run(node);
    AskingStory story(node, seed, {});
    for (int act = 0; act < kActs; ++act) {
      ASSERT_TRUE(story.act()) << "promise broken, story " << seed << ", act " << act << ": "
                               << story.world().breaches().front();
    }
    const std::vector<std::string> wrong = story.finish();
    ASSERT_TRUE(story.world().is_sound())
        << "promise broken, story " << seed << ": " << story.world().breaches().front();
    ASSERT_TRUE(wrong.empty()) << "promise broken, story " << seed << ": " << wrong.front();
    commands += story.world().commands();
    questions += story.questions();
    grants += story.grants();
    connections += story.connections();
    crashes += story.crashes();
    starts += story.world().machine().starts();
    ++stories;
  }
  std::printf("%s\n",
              fmt::format("{} commands in {} stories: {} questions, {} grants, {} containers "
                          "started, {} new connections, {} crashes",
                          commands, stories, questions, grants, starts, connections, crashes)
                  .c_str());
}

}  // namespace
}  // namespace corehold
