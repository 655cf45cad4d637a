// SPDX-License-Identifier: Apache-2.0
#include "isolation/fence.h"

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

TEST(Fence, KnowsThatATaskHasInheritedAnAffinityOfOurs) {
  FenceView view{.tasks = {task(1, 1, "0-7")}};
  IsolationJournal journal{.since = 100};
  make(view, journal, plan_fence(view, wish("2-3"), journal));
  view.tasks.push_back(task(20, 20, "0-1,4-7", 200));
  view.tasks.push_back(task(21, 21, "0-1", 200));
  const auto plan = plan_fence(view, wish("2-3"), journal);
  EXPECT_THAT(lines(plan), ElementsAre("task 20 200: 0-7 -> 0-1,4-7"));
}

TEST(Fence, DoesNotTakeAnOlderPinForAnInheritedAffinity) {
  FenceView view{.tasks = {task(1, 1, "0-7"), task(4, 4, "0-1,4-7", 50)}};
  IsolationJournal journal{.since = 100};
  make(view, journal, plan_fence(view, wish("2-3"), journal));
  EXPECT_EQ(plan_fence(view, wish("2-3"), journal), IsolationPlan{});
}

TEST(Fence, ForgetsTasksThatHaveEnded) {
  FenceView view{.tasks = {task(1, 1, "0-7"), task(5, 5, "0-7")}};
  IsolationJournal journal;
  make(view, journal, plan_fence(view, wish("2-3"), journal));
  note(journal, {.target = {Target::Kind::kTask, "9 1"}, .level = IsolationLevel::kFull});
  view.tasks.pop_back();
  forget_ended_tasks(journal, view);
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
  EXPECT_EQ(plan.leftovers[0].what, "cpuset /docker with 12 tasks");
  EXPECT_EQ(plan.leftovers[0].reason, "somebody else made it and lets it use CPUs 2-3");
}

}  // namespace
}  // namespace corehold
