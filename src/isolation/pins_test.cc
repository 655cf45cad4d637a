// SPDX-License-Identifier: Apache-2.0
#include "isolation/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ConfinedTask task(pid_t tid, std::string_view affinity, std::string_view allowed,
                  std::uint64_t start = 100) {
  return {
      .task = {.pid = tid, .tid = tid, .name = "db", .start = start, .affinity = cpus(affinity)},
      .allowed = cpus(allowed)};
}

std::map<pid_t, TaskPin> pin(pid_t tid, std::string_view own) {
  return {{tid, {.start = 100, .name = "db", .cpus = cpus(own)}}};
}

TEST(Pins, AreNotedForTasksThatCannotUseAllThatTheirCgroupAllows) {
  std::map<pid_t, TaskPin> pins;
  // A mask may name CPUs that are offline.
  note_pins(pins, {task(1, "0-127", "0-7"), task(2, "3", "0-7"), task(3, "2-9", "0-7")});
  EXPECT_EQ(pins.size(), 2U);
  EXPECT_EQ(pins.at(2).cpus, cpus("3"));
  EXPECT_EQ(pins.at(3).cpus, cpus("2-9"));
}

TEST(Pins, AreForgottenWithTheirTaskAlsoWhenItsNumberIsUsedAgain) {
  std::map<pid_t, TaskPin> pins = pin(2, "3");
  note_pins(pins, {task(2, "0-7", "0-7", 200)});
  EXPECT_THAT(pins, IsEmpty());
}

TEST(Pins, AreGivenBackWhereTheKernelHasForgottenThem) {
  std::map<pid_t, TaskPin> pins = pin(2, "3-4");
  const auto plan = plan_pins(pins, {task(2, "0-2,4-7", "0-2,4-7")}, cpus("3"));
  EXPECT_THAT(plan.repairs,
              ElementsAre(PinRepair{.tid = 2, .start = 100, .name = "db", .cpus = cpus("3-4")}));
  EXPECT_THAT(plan.displaced, IsEmpty());
  EXPECT_EQ(pins.at(2).cpus, cpus("3-4"));
}

TEST(Pins, NeedNothingWhereTheKernelKeepsThem) {
  std::map<pid_t, TaskPin> pins = pin(2, "3-4");
  EXPECT_THAT(plan_pins(pins, {task(2, "4", "0-2,4-7")}, cpus("3")).repairs, IsEmpty());
  EXPECT_EQ(pins.size(), 1U);
}

TEST(Pins, ToHeldCpusAloneAreNamedKeptAndGivenBackLater) {
  std::map<pid_t, TaskPin> pins = pin(2, "3");
  const auto plan = plan_pins(pins, {task(2, "0-2,4-7", "0-2,4-7")}, cpus("3"));
  EXPECT_THAT(plan.repairs, IsEmpty());
  EXPECT_THAT(plan.displaced, ElementsAre("task 2 (db), pinned to CPUs 3"));
  note_pins(pins, {task(2, "0-2,4-7", "0-2,4-7")});
  EXPECT_EQ(pins, pin(2, "3"));
  const auto later = plan_pins(pins, {task(2, "0-7", "0-7")}, {});
  EXPECT_THAT(later.repairs,
              ElementsAre(PinRepair{.tid = 2, .start = 100, .name = "db", .cpus = cpus("3")}));
  EXPECT_THAT(later.displaced, IsEmpty());
  EXPECT_THAT(pins, IsEmpty());
}

// A pin to all that is allowed cannot be told from no pin.
TEST(Pins, ToAllThatIsLeftStayNoted) {
  std::map<pid_t, TaskPin> pins;
  note_pins(pins, {task(2, "0-1", "0-7")});
  EXPECT_THAT(plan_pins(pins, {task(2, "0-1", "0-1")}, cpus("2-7")).repairs, IsEmpty());
  note_pins(pins, {task(2, "0-1", "0-1")});
  const auto later = plan_pins(pins, {task(2, "0-7", "0-7")}, {});
  EXPECT_THAT(later.repairs,
              ElementsAre(PinRepair{.tid = 2, .start = 100, .name = "db", .cpus = cpus("0-1")}));
}

TEST(Pins, ThatTheTaskHasChosenMeanwhileWin) {
  std::map<pid_t, TaskPin> pins = pin(2, "3-4");
  note_pins(pins, {task(2, "5", "0-2,4-7")});
  EXPECT_EQ(pins.at(2).cpus, cpus("5"));
  EXPECT_THAT(plan_pins(pins, {task(2, "5", "0-7")}, {}).repairs, IsEmpty());
}

// postgres, pinned to 8-15 of which 8-14 are held, starts another process.
TEST(Pins, AreInheritedByTasksThatAreStartedMeanwhile) {
  std::map<pid_t, TaskPin> pins = pin(2, "8-15");
  ConfinedTask child = task(3, "15", "0-7,15", 200);
  child.task.parent = 2;
  ConfinedTask grandchild = task(4, "15", "0-7,15", 200);
  grandchild.task.parent = 3;
  ConfinedTask thread = task(5, "15", "0-7,15", 200);
  thread.task.pid = 2;
  const ConfinedTask stranger = task(6, "15", "0-7,15", 200);
  ConfinedTask older = task(7, "15", "0-7,15", 100);
  older.task.parent = 2;
  note_pins(pins, {task(2, "15", "0-7,15"), child, grandchild, thread, stranger, older}, 100);
  for (const pid_t each : {2, 3, 4, 5}) EXPECT_EQ(pins.at(each).cpus, cpus("8-15")) << each;
  for (const pid_t each : {6, 7}) EXPECT_EQ(pins.at(each).cpus, cpus("15")) << each;
}

TEST(Pins, OfATaskThatHasBeenMovedOutOfTheRootCgroupAreGivenBackThere) {
  IsolationJournal journal;
  for (const char* name : {"2 100", "3 100"}) {
    note(journal, {.target = {Target::Kind::kTask, name}, .before = "0-7", .value = "0-1,4-7"});
  }
  EXPECT_THAT(plan_moved_tasks(
                  journal, {task(2, "0-1,4", "0-4"), task(3, "1", "0-4"), task(4, "0-1,4", "0-4")}),
              ElementsAre(PinRepair{.tid = 2, .start = 100, .name = "db", .cpus = cpus("0-7")}));
}

}  // namespace
}  // namespace corehold
