// SPDX-License-Identifier: Apache-2.0
//
// Random histories in which the files below the agent's root are changed again and again while
// containers run on: an older checkpoint or older records are put back, together or not, some are
// lost, or the next agent has another root. After every step no CPU that a container was put on as
// its own is one that another may run on, every container that does not keep its CPUs is named by
// a warning, and in the end all are where the checkpoint has them. Other histories:
//
//   build/debug/src/sim/restore_history_test --gtest_random_seed=17
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/story.h"

namespace corehold {
namespace {

constexpr int kHistories = 300;
constexpr int kActs = 300;  // of one history
constexpr int kShown = 20;  // histories that fail

struct Counts {
  std::uint64_t commands = 0;
  std::uint64_t effects = 0;
  std::uint64_t starts = 0;
  Story::Restores restores{};
};

// The promise that is broken; empty: none.
std::string tell(std::uint64_t seed, Counts& counts) {
  Dice dice(seed);
  const StoryNode node = random_node(dice, 12);
  Story story(node, seed, {.faults = 4, .drift = 0, .offline = 1, .crashes = 3, .restores = 12});
  for (int act = 0; act < kActs; ++act) {
    if (story.act()) continue;
    return fmt::format("act {}: {}", act, story.world().breaches().front());
  }
  World& world = story.world();
  world.machine().set_offline({});
  const bool rests = world.settle();
  if (!world.is_sound()) return "at the end: " + world.breaches().front();
  if (!rests) return "the node does not come to rest";
  const auto misplaced = world.misplaced();
  if (!misplaced.empty()) return "at rest: " + misplaced.front();
  counts.commands += world.commands();
  counts.effects += world.effects();
  counts.starts += world.machine().starts();
  const Story::Restores& restores = story.restores();
  counts.restores.checkpoints += restores.checkpoints;
  counts.restores.records += restores.records;
  counts.restores.lost += restores.lost;
  counts.restores.roots += restores.roots;
  counts.restores.running += restores.running;
  return {};
}

TEST(RestoreHistory, NoCpuIsHeldTwiceWhateverBecomesOfTheFiles) {
  const int first = 1 + GTEST_FLAG_GET(random_seed) * kHistories;
  Counts counts;
  int failed = 0;
  for (int seed = first; seed < first + kHistories; ++seed) {
    const std::string broken = tell(static_cast<std::uint64_t>(seed), counts);
    if (broken.empty()) continue;
    if (++failed <= kShown) ADD_FAILURE() << "promise broken, history " << seed << ", " << broken;
  }
  std::printf(
      "%s\n",
      fmt::format("{} histories, {} of them with a broken promise; {} commands, {} effects, "
                  "{} containers started; {} older checkpoints and {} older records put "
                  "back, {} lost, {} other roots, while {} containers ran on",
                  kHistories, failed, counts.commands, counts.effects, counts.starts,
                  counts.restores.checkpoints, counts.restores.records, counts.restores.lost,
                  counts.restores.roots, counts.restores.running)
          .c_str());
  EXPECT_EQ(failed, 0);
  EXPECT_GT(counts.restores.running, 0U);
}

}  // namespace
}  // namespace corehold
