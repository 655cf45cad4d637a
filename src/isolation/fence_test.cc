// SPDX-License-Identifier: Apache-2.0
#include "isolation/fence.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

IsolationWish wish(std::string_view held) {
  return {.level = IsolationLevel::kFence, .online = cpus("0-7"), .held = cpus(held)};
}

FenceGroup unit(const std::string& name, const std::string& value) {
  return {.target = {Target::Kind::kUnit, name}, .cgroup = "/" + name, .value = value};
}

Task task(pid_t pid, pid_t tid, std::string_view affinity, std::uint64_t start = 100) {
  return {.pid = pid,
          .tid = tid,
          .name = "task",
          .start = start,
          .affinity = cpus(affinity),
          .cgroup = "/"};
}

std::vector<std::string> lines(const IsolationPlan& plan) {
  std::vector<std::string> all;
  for (const Change& change : plan.changes) {
    all.push_back(std::string(name_of(change.target.kind)) + " " + change.target.name + ": " +
                  change.before + " -> " + change.value);
  }
  return all;
}

// What an executor does: every change is noted and made.
void make(FenceView& view, IsolationJournal& journal, const IsolationPlan& plan) {
  for (const Change& change : plan.changes) {
    note(journal, change);
    for (FenceGroup& group : view.groups) {
      if (group.target == change.target) group.value = change.value;
    }
    for (Task& each : view.tasks) {
      if (change.target.kind != Target::Kind::kTask || task_name(each) != change.target.name) {
        continue;
      }
      each.affinity = cpus(change.value);
    }
  }
}

TEST(Fence, GivesGroupsOfOthersTheCpusThatNobodyHolds) {
  FenceView view{.groups = {unit("init.scope", ""), unit("system.slice", "")}};
  IsolationJournal journal;
  const auto plan = plan_fence(view, wish("2-3"), journal);
  EXPECT_THAT(lines(plan),
              ElementsAre("unit init.scope:  -> 0-1,4-7", "unit system.slice:  -> 0-1,4-7"));
  make(view, journal, plan);
  EXPECT_EQ(plan_fence(view, wish("2-3"), journal), IsolationPlan{});
}

TEST(Fence, KeepsAGroupWithinCpusOfItsOwnAndGivesThemBackAsFarAsNobodyHoldsThem) {
  FenceView view{.groups = {unit("db.slice", "2-5")}};
  IsolationJournal journal;
  const auto first = plan_fence(view, wish("2-3"), journal);
  EXPECT_THAT(lines(first), ElementsAre("unit db.slice: 2-5 -> 4-5"));
  make(view, journal, first);
  const auto second = plan_fence(view, wish("2"), journal);
  EXPECT_THAT(lines(second), ElementsAre("unit db.slice: 4-5 -> 3-5"));
  EXPECT_EQ(find_entry(journal, view.groups[0].target)->before, "2-5");
}

TEST(Fence, NamesAGroupThatWouldHaveNoCpuAndDoesNotForceIt) {
  const FenceView view{.groups = {unit("db.slice", "2-3")}};
  const auto plan = plan_fence(view, wish("2-4"), {});
  EXPECT_THAT(plan.changes, IsEmpty());
  ASSERT_EQ(plan.leftovers.size(), 1U);
  EXPECT_EQ(plan.leftovers[0].what, "/db.slice");
  EXPECT_EQ(plan.leftovers[0].reason, "it is allowed CPUs 2-3 alone, all of which containers hold");
  EXPECT_EQ(plan.leftovers[0].advice, "let it use others of the machine's CPUs, such as 0-1,5-7");
}

TEST(Fence, GivesTasksInTheRootCgroupAnAffinityAndLeavesThoseThatAreElsewhere) {
  FenceView view{.tasks = {task(1, 1, "0-7"), task(5, 5, "0-1"), task(6, 6, "1-2")}};
  view.tasks.push_back(task(7, 7, "0-7"));
  view.tasks.back().flags = kTaskKernelThread;
  const auto plan = plan_fence(view, wish("2-3"), {});
  EXPECT_THAT(lines(plan), ElementsAre("task 1 100: 0-7 -> 0-1,4-7", "task 6 100: 1-2 -> 1"));
  EXPECT_THAT(plan.displaced, IsEmpty());
}

TEST(Fence, NamesATaskThatIsPinnedToHeldCpusAloneAndMovesIt) {
  FenceView view{.tasks = {task(9, 9, "3")}};
  IsolationJournal journal;
  const auto plan = plan_fence(view, wish("2-3"), journal);
  EXPECT_THAT(lines(plan), ElementsAre("task 9 100: 3 -> 0-1,4-7"));
  EXPECT_THAT(plan.displaced, ElementsAre("task 9 (task), pinned to CPUs 3"));
  make(view, journal, plan);
  const auto later = plan_fence(view, wish("2"), journal);
  EXPECT_THAT(lines(later), ElementsAre("task 9 100: 0-1,4-7 -> 3"));
  EXPECT_THAT(later.displaced, IsEmpty());
}

// The first fence of a machine whose newest task was started at 100.
IsolationJournal fence(FenceView& view, std::string_view held) {
  IsolationJournal journal{.since = 100, .rests = {wish(held).rest()}};
  make(view, journal, plan_fence(view, wish(held), journal));
  for (const Task& each : view.tasks) {
    confirm(journal, {Target::Kind::kTask, task_name(each)});
  }
  return journal;
}

std::string before(const IsolationJournal& journal, const std::string& task) {
  const JournalEntry* entry = find_entry(journal, {Target::Kind::kTask, task});
  return entry == nullptr ? "not noted" : entry->before;
}

TEST(FenceHeritage, IsNotedAndNothingIsWritten) {
  FenceView view{.tasks = {task(1, 1, "0-7")}};
  IsolationJournal journal = fence(view, "2-3");
  view.tasks.push_back(task(20, 20, "0-1,4-7", 200));
  view.tasks.push_back(task(21, 21, "0-1", 200));
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7")), 1U);
  EXPECT_EQ(before(journal, "20 200"), "0-7");
  EXPECT_EQ(before(journal, "21 200"), "not noted");
  EXPECT_EQ(plan_fence(view, wish("2-3"), journal), IsolationPlan{});
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7")), 0U);
}

TEST(FenceHeritage, IsNotAnOlderPin) {
  FenceView view{.tasks = {task(1, 1, "0-7"), task(4, 4, "0-1,4-7", 50)}};
  IsolationJournal journal = fence(view, "2-3");
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7")), 0U);
  EXPECT_EQ(plan_fence(view, wish("2-3"), journal), IsolationPlan{});
}

// It was started before the other CPUs were held, and is seen after that.
TEST(FenceHeritage, IsKnownByTheCpusThatWereLeftBefore) {
  FenceView view{.tasks = {task(1, 1, "0-7")}};
  IsolationJournal journal = fence(view, "2-3");
  view.tasks = {task(20, 20, "0-1,4-7", 200)};
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7")), 1U);
  EXPECT_THAT(lines(plan_fence(view, wish("4"), journal)),
              ElementsAre("task 20 200: 0-1,4-7 -> 0-3,5-7"));
  EXPECT_EQ(before(journal, "20 200"), "0-7");
}

TEST(FenceHeritage, IsThePinOfWhoeverStartedIt) {
  FenceView view{.tasks = {task(9, 9, "3-4")}};
  IsolationJournal journal = fence(view, "2-3");
  ASSERT_EQ(view.tasks[0].affinity, cpus("4"));
  view.tasks.push_back(task(20, 20, "4", 200));
  view.tasks.back().parent = 9;
  view.tasks.push_back(task(9, 21, "4", 200));
  view.tasks.push_back(task(22, 22, "4", 200));
  view.tasks.back().parent = 1;
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7")), 2U);
  EXPECT_EQ(before(journal, "20 200"), "3-4");
  EXPECT_EQ(before(journal, "21 200"), "3-4");
  EXPECT_EQ(before(journal, "22 200"), "not noted");
}

TEST(FenceHeritage, IsFoundAlsoOfOneThatHasItsOwnAgain) {
  FenceView view{.tasks = {task(9, 9, "3-4")}};
  IsolationJournal journal = fence(view, "2-3");
  const auto given_back = std::exchange(journal.entries, {});
  view.tasks[0].affinity = cpus("3-4");
  view.tasks.push_back(task(20, 20, "4", 200));
  view.tasks.back().parent = 9;
  EXPECT_EQ(note_inherited(journal, view, cpus("0-7"), given_back), 1U);
  EXPECT_EQ(before(journal, "20 200"), "3-4");
}

TEST(Fence, ForgetsTasksThatHaveEnded) {
  FenceView view{.tasks = {task(1, 1, "0-7"), task(5, 5, "0-7")}};
  IsolationJournal journal;
  make(view, journal, plan_fence(view, wish("2-3"), journal));
  note(journal, {.target = {Target::Kind::kTask, "9 1"}, .level = IsolationLevel::kFull});
  forget_ended_tasks(journal, {"1 100"});
  EXPECT_EQ(journal.entries.size(), 2U);
  EXPECT_EQ(find_entry(journal, {Target::Kind::kTask, "5 100"}), nullptr);
}

TEST(FenceV1, MovesWholeProcessesAndSingleThreadsOfThoseThatAreSplit) {
  FenceView view{.way = FenceView::Way::kCpuset, .cpuset = "/cpuset/corehold-system"};
  view.tasks = {task(4, 4, "0-7"), task(4, 5, "0-7"), task(8, 8, "0-7"), task(8, 9, "0-7")};
  view.split = {8};
  view.tasks.push_back(task(10, 10, "0-7"));
  view.tasks.back().flags = kTaskKernelThread;
  EXPECT_THAT(lines(plan_fence(view, wish("2-3"), {})),
              ElementsAre("cpuset /cpuset/corehold-system:  -> 0-1,4-7",
                          "member 4 100: / -> /cpuset/corehold-system/cgroup.procs",
                          "member 8 100: / -> /cpuset/corehold-system/tasks",
                          "member 9 100: / -> /cpuset/corehold-system/tasks"));
}

TEST(FenceV1, ChangesNothingWhenEverybodyIsInTheCpuset) {
  FenceView view{.way = FenceView::Way::kCpuset, .cpuset = "/x"};
  IsolationJournal journal;
  make(view, journal, plan_fence(view, wish("2-3"), journal));
  view.cpuset_value = "0-1,4-7";
  EXPECT_EQ(plan_fence(view, wish("2-3"), journal), IsolationPlan{});
}

TEST(FenceV1, TakesOverTheCpusetOfAnAgentWithAnotherJournal) {
  const FenceView view{.way = FenceView::Way::kCpuset, .cpuset = "/x", .cpuset_value = "0-3"};
  EXPECT_THAT(lines(plan_fence(view, wish("2-3"), {})), ElementsAre("cpuset /x:  -> 0-1,4-7"));
  const FenceView same{.way = FenceView::Way::kCpuset, .cpuset = "/x", .cpuset_value = "0-1,4-7"};
  EXPECT_EQ(plan_fence(same, wish("2-3"), {}).changes.size(), 1U);
}

TEST(FenceV1, NamesCpusetsOfOthersThatMayUseHeldCpus) {
  FenceView view{.way = FenceView::Way::kCpuset, .cpuset_value = "0-1,4-7"};
  view.foreign = {{.cgroup = "/docker", .cpus = cpus("0-7"), .tasks = 12},
                  {.cgroup = "/empty", .cpus = cpus("0-7"), .tasks = 0},
                  {.cgroup = "/elsewhere", .cpus = cpus("0-1"), .tasks = 3}};
  const auto plan = plan_fence(view, wish("2-3"), {});
  ASSERT_EQ(plan.leftovers.size(), 1U);
  EXPECT_EQ(plan.leftovers[0].what, "cpuset /docker");
  EXPECT_EQ(plan.leftovers[0].reason, "somebody else made it and lets it use CPUs 2-3");
}

}  // namespace
}  // namespace corehold
