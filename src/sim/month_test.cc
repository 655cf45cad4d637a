// SPDX-License-Identifier: Apache-2.0
//
// A simulated month, a quarter of it on a node with each of the delays 0, 500 ms, 5 s and
// 10 s: pods come, go and are resized all the time, some with a delay of their own, while
// effects fail, containers are moved by others, agents die, and the clock on the wall is put
// forward and back by hours. The machine itself checks every CPU that is taken: the files had
// ceased to list it, at least the whole delay ago, and nobody else was on it before.
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/story.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr hours kQuarter{30 * 24 / 4};

// Everything that is due in this time, some of it late and in any order.
void live(Story& story, milliseconds time) {
  World& world = story.world();
  Dice& dice = story.dice();
  const SteadyTime then = world.time().steady + time;
  for (;;) {
    const std::vector<World::Move> moves = world.moves();
    const bool waits = moves.empty() || dice.chance(3);
    if (waits && world.fire_next_until(then)) continue;
    if (moves.empty()) break;
    if (dice.chance(20)) world.wait(milliseconds(dice.roll(1, 40)));
    const auto which = dice.roll(0, static_cast<int>(moves.size()) - 1);
    story.make(moves[static_cast<std::size_t>(which)]);
  }
  const SteadyTime left = then - world.time().steady;
  if (left > SteadyTime{}) world.wait(std::chrono::ceil<milliseconds>(left));
}

struct Counts {
  std::uint64_t events = 0;
  std::uint64_t clock_jumps = 0;
};

void tell(Story& story, Counts& counts) {
  Dice& dice = story.dice();
  const World& world = story.world();
  const SteadyTime end = world.time().steady + kQuarter;
  while (world.time().steady < end) {
    ++counts.events;
    if (dice.chance(60)) {
      story.resize_pod();
    } else {
      story.happen();
    }
    if (dice.chance(2)) {
      ++counts.clock_jumps;
      story.world().put_clock(hours(dice.roll(-12, 12)));
    }
    // Often the next thing happens within the delay.
    live(story, milliseconds(dice.roll(0, dice.chance(50) ? 12'000 : 300'000)));
    ASSERT_TRUE(world.is_sound()) << "promise broken, event " << counts.events << ": "
                                  << world.breaches().front();
  }
  const std::vector<std::string> wrong = story.finish();
  ASSERT_TRUE(world.is_sound()) << "promise broken: " << world.breaches().front();
  ASSERT_TRUE(wrong.empty()) << "promise broken: " << wrong.front();
}

class Month : public testing::TestWithParam<int> {};

TEST_P(Month, EveryDelayIsKept) {
  const milliseconds delay(GetParam());
  const StoryNode node = delaying_node(machine("2s4c2t"), delay);
  node.rules->reconcile_period = minutes(1);
  Story story(node, static_cast<std::uint64_t>(GetParam()) + 1,
              {.faults = 3, .drift = 2, .offline = 0, .crashes = 2});
  Counts counts;
  ASSERT_NO_FATAL_FAILURE(tell(story, counts));
  const PretendMachine::Shrinks& shrinks = story.world().machine().shrinks();
  EXPECT_GT(shrinks.all, 150U);
  EXPECT_GT(shrinks.delayed, delay.count() > 0 ? 150U : 15U);
  EXPECT_GT(counts.clock_jumps, 20U);
  ASSERT_TRUE(shrinks.least_over.has_value());
  EXPECT_GE(*shrinks.least_over, SteadyTime{});
  std::printf(
      "%s\n",
      fmt::format("node delay {} ms: {} hours, {} events, {} commands, {} effects; {} delays "
                  "begun, {} shrinks, {} of them checked against a delay, the shortest {} ms "
                  "beyond it; the wall clock was put {} times",
                  delay.count(), kQuarter.count(), counts.events, story.world().commands(),
                  story.world().effects(), story.world().delays(), shrinks.all, shrinks.delayed,
                  std::chrono::floor<milliseconds>(*shrinks.least_over).count(), counts.clock_jumps)
          .c_str());
}

INSTANTIATE_TEST_SUITE_P(Delays, Month, testing::Values(0, 500, 5'000, 10'000));

}  // namespace
}  // namespace corehold
