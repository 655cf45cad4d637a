// SPDX-License-Identifier: Apache-2.0
#include "isolation/quiet_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

CpuSet cpus(std::string_view list) {
  const auto set = CpuSet::parse(list);
  return set ? *set : CpuSet();
}

constexpr std::uint32_t kBoundKernel = kTaskKernelThread | kTaskBound;

Task task(pid_t tid, std::string name, std::string_view affinity) {
  return {.pid = tid,
          .tid = tid,
          .name = std::move(name),
          .start = 5,
          .last_cpu = 0,
          .affinity = cpus(affinity),
          .cgroup = "/"};
}

// Four CPUs, 0 and 2 of one core, 1 and 3 of the other.
class QuietReportTest : public testing::Test {
 protected:
  QuietReportTest() {
    question_.cpus = cpus("2-3");
    question_.kernel.online = cpus("0-3");
    for (const int cpu : {0, 1, 2, 3}) {
      question_.kernel.smt_siblings[CpuId(cpu)] = cpus(cpu % 2 == 0 ? "0,2" : "1,3");
    }
    before_.at = std::chrono::seconds(10);
    after_.at = std::chrono::seconds(15);
  }

  Task& add(Task added) {
    before_.tasks.push_back(added);
    after_.tasks.push_back(std::move(added));
    return after_.tasks.back();
  }
  QuietReport report() const { return quiet_report(question_, before_, after_); }
  const CpuQuiet& cpu(const QuietReport& from, int number) const {
    for (const CpuQuiet& row : from.cpus) {
      if (row.cpu == CpuId(number)) return row;
    }
    CHECK(false);
  }

  QuietQuestion question_{};
  MachineSnapshot before_{};
  MachineSnapshot after_{};
};

TEST_F(QuietReportTest, CountsWhoMayRunByAffinity) {
  add(task(10, "cron", "0-3"));
  add(task(11, "db", "3"));
  add(task(12, "elsewhere", "0-1"));
  const QuietReport found = report();
  EXPECT_EQ(found.watched, std::chrono::seconds(5));
  EXPECT_THAT(found.tasks, SizeIs(2));
  EXPECT_EQ(cpu(found, 2).may_run.tasks, 1U);
  EXPECT_EQ(cpu(found, 3).may_run.tasks, 2U);
  EXPECT_EQ(found.tasks[0].removal, Removal::kFence);
}

TEST_F(QuietReportTest, TellsKernelThreadsApart) {
  add(task(10, "kthreadd", "0-3")).flags = kTaskKernelThread;
  add(task(11, "kworker/u8:1-events", "0-3")).flags = kBoundKernel;
  add(task(12, "netns", "0-3")).flags = kBoundKernel;  // a rescuer
  add(task(13, "migration/2", "2")).flags = kBoundKernel;
  add(task(14, "irq/24-nvme0q0", "2-3")).flags = kTaskKernelThread;
  const QuietReport found = report();
  std::vector<ForeignKind> kinds;
  for (const ForeignTask& foreign : found.tasks) kinds.push_back(foreign.kind);
  EXPECT_THAT(kinds, ElementsAre(ForeignKind::kKernelThread, ForeignKind::kWorkqueue,
                                 ForeignKind::kWorkqueue, ForeignKind::kBoundThread,
                                 ForeignKind::kInterruptThread));
  EXPECT_EQ(cpu(found, 2).may_run.kernel_threads, 4U);
  EXPECT_EQ(cpu(found, 2).may_run.bound_threads, 1U);
  EXPECT_EQ(cpu(found, 3).may_run.bound_threads, 0U);
  EXPECT_EQ(found.tasks[1].removal, Removal::kFull);
  EXPECT_EQ(found.tasks[3].removal, Removal::kNothing);
  EXPECT_EQ(found.tasks[4].removal, Removal::kIrqs);
}

TEST_F(QuietReportTest, LeavesOutTheHolderOnItsOwnCpusOnly) {
  question_.holders = {{.name = "default/web main", .cpus = cpus("2"), .cgroup = "/uid-1/main"}};
  add(task(10, "web", "2")).cgroup = "/corehold/uid-1/main";
  add(task(11, "web-child", "2-3")).cgroup = "/corehold/pods/uid-1/main/inner";
  add(task(12, "other", "2")).cgroup = "/corehold/uid-1/main2";
  const QuietReport found = report();
  ASSERT_THAT(found.tasks, SizeIs(2));
  EXPECT_EQ(found.tasks[0].task.tid, 11);
  EXPECT_EQ(found.tasks[0].cpus.str(), "3");
  EXPECT_EQ(found.tasks[0].container, "default/web main");
  EXPECT_EQ(found.tasks[1].container, "");
  EXPECT_EQ(found.tasks[1].task.tid, 12);
  EXPECT_EQ(cpu(found, 2).holder, "default/web main");
  EXPECT_EQ(cpu(found, 2).may_run.tasks, 1U);
  EXPECT_EQ(cpu(found, 3).holder, "");
}

TEST_F(QuietReportTest, KnowsAHolderWithoutCgroupsByItsProcesses) {
  question_.holders = {{.name = "default/web main", .cpus = cpus("2"), .processes = {10}}};
  add(task(10, "web", "2"));
  EXPECT_THAT(report().tasks, IsEmpty());
}

TEST_F(QuietReportTest, LeavesOutWhoAsks) {
  question_.self = 10;
  add(task(10, "corehold", "0-3"));
  EXPECT_THAT(report().tasks, IsEmpty());
}

TEST_F(QuietReportTest, SaysWhoRanLongestFirst) {
  Task& first = add(task(10, "short", "0-3"));
  first.last_cpu = 2;
  first.run_ns = 1000;
  add(task(11, "idle", "0-3")).last_cpu = 2;
  Task fresh = task(12, "new", "2");
  fresh.last_cpu = 2;
  fresh.run_ns = 5000;
  after_.tasks.push_back(fresh);
  // Another process has taken the number of one that has gone.
  Task old = task(13, "old", "0-3");
  old.run_ns = 900;
  before_.tasks.push_back(old);
  old.start = 6;
  old.last_cpu = 3;
  old.run_ns = 40;
  after_.tasks.push_back(old);
  const QuietReport found = report();
  const CpuQuiet& row = cpu(found, 2);
  ASSERT_THAT(row.ran, SizeIs(2));
  EXPECT_EQ(found.tasks[row.ran[0]].task.name, "new");
  EXPECT_EQ(found.tasks[row.ran[0]].ran_ns, 5000U);
  EXPECT_EQ(found.tasks[row.ran[1]].task.name, "short");
  EXPECT_EQ(row.ran_ns, 6000U);
  ASSERT_THAT(cpu(found, 3).ran, SizeIs(1));
  EXPECT_EQ(cpu(found, 3).ran_ns, 40U);
}

TEST_F(QuietReportTest, SaysThatATaskRanWhichMayNoLonger) {
  Task& moved = add(task(10, "moved", "0-1"));
  moved.last_cpu = 2;
  moved.run_ns = 7;
  const QuietReport found = report();
  EXPECT_THAT(cpu(found, 2).ran, SizeIs(1));
  EXPECT_EQ(cpu(found, 2).may_run.tasks, 0U);
}

TEST_F(QuietReportTest, NamesInterruptsThatMayComeAndThatCame) {
  before_.interrupts.columns = {CpuId(0), CpuId(2), CpuId(3)};
  before_.interrupts.rows = {
      {.label = "24", .number = 24, .counts = {1, 2, 3}, .devices = {"ttyS0"}},
      {.label = "25", .number = 25, .counts = {0, 5, 0}, .devices = {"nvme0q3"}},
      {.label = "26", .number = 26, .counts = {0, 0, 0}},
      {.label = "LOC", .counts = {10, 20, 30}, .description = "Local timer interrupts"}};
  after_.interrupts = before_.interrupts;
  after_.interrupts.rows[0].counts = {1, 2, 10};
  after_.interrupts.rows[1].counts = {0, 9, 0};
  after_.interrupts.rows[3].counts = {20, 25, 30};
  after_.affinities[24] = {.allowed = cpus("0-3"), .effective = cpus("3")};
  after_.affinities[25] = {.allowed = cpus("2"), .managed = Managed::kByName};
  after_.affinities[26] = {.allowed = cpus("0-3")};
  const QuietReport found = report();
  ASSERT_THAT(found.interrupts, SizeIs(2));
  EXPECT_EQ(found.interrupts[0].cpus.str(), "2-3");
  EXPECT_EQ(found.interrupts[0].removal, Removal::kIrqs);
  EXPECT_EQ(found.interrupts[1].kind, ForeignKind::kManagedInterrupt);
  EXPECT_EQ(found.interrupts[1].removal, Removal::kManagedIrq);
  EXPECT_EQ(cpu(found, 2).may_run.interrupts, 1U);
  EXPECT_EQ(cpu(found, 2).may_run.managed_interrupts, 1U);
  const CpuQuiet& second = cpu(found, 2);
  ASSERT_THAT(second.interrupts, SizeIs(2));
  EXPECT_EQ(second.interrupts[0].label, "25");
  EXPECT_EQ(second.interrupts[0].count, 4U);
  EXPECT_EQ(second.interrupts[0].total, 9U);
  EXPECT_EQ(second.interrupts[1].what, "Local timer interrupts");
  EXPECT_EQ(second.interrupts[1].removal, Removal::kNohzFull);
  ASSERT_THAT(cpu(found, 3).interrupts, SizeIs(1));
  EXPECT_EQ(cpu(found, 3).interrupts[0].what, "ttyS0");
  EXPECT_EQ(cpu(found, 3).interrupts[0].count, 7U);
}

TEST_F(QuietReportTest, SaysWhatSoftInterruptsCameFrom) {
  before_.softirqs.columns = {CpuId(2)};
  before_.softirqs.rows = {{.label = "TIMER", .counts = {1}},
                           {.label = "NET_RX", .counts = {1}},
                           {.label = "SCHED", .counts = {1}},
                           {.label = "RCU", .counts = {1}}};
  after_.softirqs = before_.softirqs;
  for (InterruptRow& row : after_.softirqs.rows) row.counts = {3};
  question_.kernel.rcu_nocbs = cpus("2");
  const QuietReport found = report();
  std::vector<Removal> removals;
  for (const CpuCount& count : cpu(found, 2).softirqs) removals.push_back(count.removal);
  EXPECT_THAT(removals, ElementsAre(Removal::kNohzFull, Removal::kIrqs, Removal::kPartition,
                                    Removal::kNothing));
}

TEST_F(QuietReportTest, KnowsTickAndCallbacksByTheBootParameters) {
  question_.kernel.nohz_full = cpus("3");
  question_.kernel.rcu_nocbs = cpus("2-3");
  const QuietReport found = report();
  EXPECT_TRUE(cpu(found, 2).may_run.tick);
  EXPECT_FALSE(cpu(found, 2).may_run.rcu_callbacks);
  EXPECT_FALSE(cpu(found, 3).may_run.tick);
}

TEST_F(QuietReportTest, NamesSiblingsThatTheHolderDoesNotHold) {
  question_.holders = {{.name = "a", .cpus = cpus("0,2-3")}};
  const QuietReport found = report();
  EXPECT_EQ(cpu(found, 2).siblings.str(), "0");
  EXPECT_TRUE(cpu(found, 2).loose_siblings.empty());
  EXPECT_EQ(cpu(found, 3).loose_siblings.str(), "1");
}

TEST_F(QuietReportTest, SaysHowTheCpuSpentItsTime) {
  before_.times[CpuId(2)] = {.user = 5, .idle = 100, .run_ns = 70};
  after_.times[CpuId(2)] = {.user = 15, .idle = 590, .steal = 2, .run_ns = 170};
  const CpuTime spent = cpu(report(), 2).spent;
  EXPECT_EQ(spent.user, 10U);
  EXPECT_EQ(spent.idle, 490U);
  EXPECT_EQ(spent.steal, 2U);
  EXPECT_EQ(spent.run_ns, 100U);
  EXPECT_FALSE(spent.wait_ns);
}

TEST_F(QuietReportTest, HasAdviceOnSettingsThatAreKnown) {
  EXPECT_THAT(report().advice, IsEmpty());
  question_.settings.numa_balancing = 1;
  ASSERT_THAT(report().advice, SizeIs(1));
  EXPECT_EQ(report().advice[0].setting, "kernel.numa_balancing");
}

TEST_F(QuietReportTest, LeavesOutCpusThatAreNotOnline) {
  question_.cpus = cpus("3-9");
  EXPECT_THAT(report().cpus, SizeIs(1));
}

}  // namespace
}  // namespace corehold
