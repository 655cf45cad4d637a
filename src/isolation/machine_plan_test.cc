// SPDX-License-Identifier: Apache-2.0
#include "isolation/machine_plan.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isolation/knob.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

CpuSet cpus(std::string_view list) { return *CpuSet::parse(list); }

IsolationWish wish(const std::string& held, IsolationLevel level = IsolationLevel::kFull) {
  return {.level = level, .online = cpus("0-7"), .held = cpus(held)};
}

Target file(const std::string& path) { return {.kind = Target::Kind::kFile, .name = path}; }

InterruptView interrupt(int number, const std::string& allowed, const std::string& device = "eth0",
                        Managed managed = Managed::kNo) {
  InterruptView view{.list_file = "/proc/irq/" + std::to_string(number) + "/smp_affinity_list",
                     .affinity = {.allowed = cpus(allowed), .managed = managed}};
  if (!device.empty()) view.devices.push_back(device);
  return view;
}

// What a change makes of the machine, in short: "name=value".
std::vector<std::string> lines(const Changes& changes) {
  std::vector<std::string> all;
  for (const Change& change : changes) all.push_back(change.target.name + "=" + change.value);
  return all;
}

std::vector<std::string> lines(const IsolationPlan& plan) { return lines(plan.changes); }

TEST(PlanInterrupts, KeepsWhatIsAllowedOfTheirOwnCpus) {
  const MachineView view{.interrupts = {{24, interrupt(24, "0-7")},
                                        {25, interrupt(25, "2-4")},
                                        {26, interrupt(26, "5")},
                                        {27, interrupt(27, "4-5")}}};
  EXPECT_THAT(
      lines(plan_interrupts(view, wish("4-5"), {})),
      ElementsAre("/proc/irq/24/smp_affinity_list=0-3,6-7", "/proc/irq/25/smp_affinity_list=2-3",
                  "/proc/irq/26/smp_affinity_list=0-3,6-7",
                  "/proc/irq/27/smp_affinity_list=0-3,6-7"));
}

TEST(PlanInterrupts, WantsNothingWhereNoneComesToAHeldCpu) {
  const MachineView view{.interrupts = {{24, interrupt(24, "0-3")}},
                         .default_affinity = KernelFile{"/proc/irq/default_smp_affinity", "0f"}};
  EXPECT_EQ(plan_interrupts(view, wish("4-5"), {}), IsolationPlan{});
}

TEST(PlanInterrupts, WantsNothingBelowItsLevel) {
  const MachineView view{.interrupts = {{24, interrupt(24, "0-7")}}};
  EXPECT_EQ(plan_interrupts(view, wish("4-5", IsolationLevel::kFence), {}), IsolationPlan{});
}

TEST(PlanInterrupts, SetsTheMaskOfThoseThatAppearLater) {
  const MachineView view{.default_affinity = KernelFile{"/proc/irq/default_smp_affinity", "ff"}};
  const auto plan = plan_interrupts(view, wish("4-5"), {});
  EXPECT_THAT(lines(plan), ElementsAre("/proc/irq/default_smp_affinity=cf"));
  EXPECT_EQ(plan.changes[0].compare, Compare::kText);
}

TEST(PlanInterrupts, NamesManagedOnesThatComeToHeldCpusAndLeavesThemAlone) {
  MachineView view{.interrupts = {{30, interrupt(30, "4", "nvme0q5", Managed::kYes)},
                                  {31, interrupt(31, "0-7", "nvme0q6", Managed::kYes)},
                                  {32, interrupt(32, "4", "", Managed::kYes)}}};
  view.interrupts.at(31).affinity.effective = cpus("3");
  const auto plan = plan_interrupts(view, wish("4-5"), {});
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_THAT(
      plan.leftovers,
      ElementsAre(Leftover{.level = IsolationLevel::kIrqs,
                           .stays = Leftover::Stays::kByNature,
                           .what = "interrupt 30 (nvme0q5, managed)",
                           .reason = "the kernel alone chooses the CPUs of managed interrupts",
                           .advice = "boot with isolcpus=managed_irq,4-5"}));
}

TEST(PlanInterrupts, DoesNotTryAgainWhatTheKernelHasRefused) {
  MachineView view{.interrupts = {{0, interrupt(0, "0-7", "timer")},
                                  {2, interrupt(2, "0-7", "")},
                                  {30, interrupt(30, "4", "virtio1-req.4", Managed::kByName)}}};
  for (const int number : {0, 2, 30}) {
    view.refused[file(view.interrupts.at(number).list_file)] = {.number = EIO, .name = "EIO"};
  }
  const auto plan = plan_interrupts(view, wish("4-5"), {});
  EXPECT_THAT(plan.changes, IsEmpty());
  ASSERT_EQ(plan.leftovers.size(), 2U);
  EXPECT_EQ(plan.leftovers[0].what, "interrupt 0 (timer)");
  EXPECT_EQ(plan.leftovers[0].reason, "the kernel refuses another value: EIO");
  EXPECT_EQ(plan.leftovers[0].advice, "");
  EXPECT_EQ(plan.leftovers[1].what, "interrupt 30 (virtio1-req.4, managed)");
  EXPECT_EQ(plan.leftovers[1].advice, "boot with isolcpus=managed_irq,4-5");
  for (const Leftover& each : plan.leftovers) {
    EXPECT_EQ(each.stays, Leftover::Stays::kByNature);
  }
}

TEST(PlanInterrupts, SaysWhatToDoWhereTheAgentMayNotWrite) {
  MachineView view{.interrupts = {{24, interrupt(24, "0-7")}}};
  view.refused[file(view.interrupts.at(24).list_file)] = {
      .number = EROFS, .name = "EROFS", .value = "0-3,6-7"};
  const auto plan = plan_interrupts(view, wish("4-5"), {});
  ASSERT_EQ(plan.leftovers.size(), 1U);
  EXPECT_EQ(plan.leftovers[0].stays, Leftover::Stays::kForNow);
  EXPECT_EQ(
      plan.leftovers[0].advice,
      "let the agent's service write there: /usr/share/corehold/isolation-full.conf says how");
}

TEST(PlanInterrupts, TriesAnotherValueWhereOneDidNotFit) {
  MachineView view{.interrupts = {{24, interrupt(24, "0-7")}}};
  view.refused[file(view.interrupts.at(24).list_file)] = {
      .number = ENOSPC, .name = "ENOSPC", .value = "0-3,6-7"};
  EXPECT_THAT(lines(plan_interrupts(view, wish("4-5"), {})), IsEmpty());
  EXPECT_THAT(lines(plan_interrupts(view, wish("4"), {})),
              ElementsAre("/proc/irq/24/smp_affinity_list=0-3,5-7"));
}

// Makes the plan's changes on interrupt 24 and default affinity, as the agent does.
void make(const IsolationPlan& plan, MachineView& view, IsolationJournal& journal) {
  for (const Change& change : plan.changes) {
    note(journal, change);
    view.interrupts.at(24).affinity.allowed = cpus(change.value);
    confirm(journal, change.target);
  }
}

TEST(PlanInterrupts, GivesBackWhatWasThereAsCpusComeBack) {
  MachineView view{.interrupts = {{24, interrupt(24, "2-5")}}};
  IsolationJournal journal;
  make(plan_interrupts(view, wish("2-5"), journal), view, journal);
  EXPECT_EQ(view.interrupts.at(24).affinity.allowed, cpus("0-1,6-7"));
  make(plan_interrupts(view, wish("3-5"), journal), view, journal);
  EXPECT_EQ(view.interrupts.at(24).affinity.allowed, cpus("2"));
  make(plan_interrupts(view, wish(""), journal), view, journal);
  EXPECT_EQ(view.interrupts.at(24).affinity.allowed, cpus("2-5"));
}

TEST(PlanInterrupts, LeavesValuesOfOthersThatAreNotOnHeldCpus) {
  MachineView view{.interrupts = {{24, interrupt(24, "0-7")}}};
  IsolationJournal journal;
  make(plan_interrupts(view, wish("4-5"), journal), view, journal);
  view.interrupts.at(24).affinity.allowed = cpus("1");
  EXPECT_EQ(plan_interrupts(view, wish("4-5"), journal), IsolationPlan{});
  EXPECT_EQ(plan_interrupts(view, wish(""), journal), IsolationPlan{});
  view.interrupts.at(24).affinity.allowed = cpus("3-4");
  make(plan_interrupts(view, wish("4-5"), journal), view, journal);
  EXPECT_EQ(view.interrupts.at(24).affinity.allowed, cpus("3"));
  make(plan_interrupts(view, wish(""), journal), view, journal);
  EXPECT_EQ(view.interrupts.at(24).affinity.allowed, cpus("3-4"));
}

TEST(PlanIrqBalance, AddsHeldCpusToThoseItKeepsOff) {
  MachineView view{
      .irqbalance = {{.socket = "/run/irqbalance/irqbalance7.sock", .banned = cpus("7")}}};
  IsolationJournal journal;
  const auto plan = plan_irqbalance(view, wish("4-5"), journal);
  EXPECT_THAT(lines(plan), ElementsAre("/run/irqbalance/irqbalance7.sock=4-5,7"));
  EXPECT_EQ(plan.changes[0].target.kind, Target::Kind::kIrqBalance);
  note(journal, plan.changes[0]);
  view.irqbalance[0].banned = cpus("4-5,7");
  EXPECT_EQ(plan_irqbalance(view, wish("4-5"), journal), IsolationPlan{});
  EXPECT_THAT(lines(plan_irqbalance(view, wish("5"), journal)),
              ElementsAre("/run/irqbalance/irqbalance7.sock=5,7"));
  EXPECT_THAT(lines(plan_irqbalance(view, wish(""), journal)),
              ElementsAre("/run/irqbalance/irqbalance7.sock=7"));
  // Another one after a restart.
  view.irqbalance[0] = {.socket = "/run/irqbalance/irqbalance8.sock"};
  EXPECT_THAT(lines(plan_irqbalance(view, wish("4-5"), journal)),
              ElementsAre("/run/irqbalance/irqbalance8.sock=4-5"));
}

MachineView with_workqueues(int major, int minor, Partitions partitions) {
  return {.facts = {.major = major, .minor = minor},
          .partitions = partitions,
          .workqueues = {{"/w/cpumask", "ff"}, {"/w/writeback/cpumask", "f0"}}};
}

TEST(PlanWorkqueues, NarrowsTheirMasks) {
  EXPECT_THAT(lines(plan_workqueues(with_workqueues(6, 1, Partitions::kNone), wish("4-7"), {})),
              ElementsAre("/w/cpumask=0f", "/w/writeback/cpumask=0f"));
  EXPECT_THAT(lines(plan_workqueues(with_workqueues(6, 1, Partitions::kSome), wish("4"), {})),
              ElementsAre("/w/cpumask=ef", "/w/writeback/cpumask=e0"));
}

TEST(PlanWorkqueues, LeavesThemToAKernelThatClearsPartitionsItself) {
  EXPECT_THAT(lines(plan_workqueues(with_workqueues(6, 8, Partitions::kSome), wish("4"), {})),
              IsEmpty());
  EXPECT_THAT(lines(plan_workqueues(with_workqueues(6, 8, Partitions::kNone), wish("4"), {})),
              ElementsAre("/w/cpumask=ef", "/w/writeback/cpumask=e0"));
}

TEST(PlanWorkqueues, IsOfLevelFull) {
  const auto view = with_workqueues(6, 1, Partitions::kNone);
  EXPECT_EQ(plan_workqueues(view, wish("4", IsolationLevel::kIrqs), {}), IsolationPlan{});
}

Task kernel_thread(pid_t tid, const std::string& name, const std::string& affinity,
                   std::uint32_t flags = kTaskKernelThread) {
  return {
      .pid = tid, .tid = tid, .name = name, .start = 9, .flags = flags, .affinity = cpus(affinity)};
}

TEST(PlanKernelThreads, MovesThoseThatMayBeMovedAndKeepsTheirNumaNode) {
  const MachineView view{
      .facts = {.major = 6, .minor = 1},
      .kernel_threads = {kernel_thread(2, "kthreadd", "0-7"),
                         kernel_thread(20, "ksoftirqd/4", "4", kTaskKernelThread | kTaskBound),
                         kernel_thread(40, "kswapd1", "4-7"),
                         kernel_thread(41, "kcompactd0", "0-3"),
                         kernel_thread(900, "bash", "0-7", 0)}};
  EXPECT_THAT(lines(plan_kernel_threads(view, wish("4-5"), {})),
              ElementsAre("2 9=0-3,6-7", "40 9=6-7"));
  EXPECT_THAT(lines(plan_kernel_threads(view, wish("4-7"), {})),
              ElementsAre("2 9=0-3", "40 9=0-3"));
}

TEST(PlanKernelThreads, NamesOneThatTheKernelDoesNotMove) {
  MachineView view{.kernel_threads = {kernel_thread(60, "kauditd", "0-7")}};
  view.refused[{Target::Kind::kTask, "60 9"}] = {
      .number = EINVAL, .name = "EINVAL", .value = "0-3,6-7"};
  const auto plan = plan_kernel_threads(view, wish("4-5"), {});
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_THAT(plan.leftovers, ElementsAre(Field(&Leftover::what, "kernel thread 60 (kauditd)")));
}

TEST(PlanKernelThreads, LeavesThemToAKernelThatClearsPartitionsItself) {
  MachineView view{.facts = {.major = 7, .minor = 0},
                   .partitions = Partitions::kSome,
                   .kernel_threads = {kernel_thread(2, "kthreadd", "0-7")}};
  EXPECT_EQ(plan_kernel_threads(view, wish("4-5"), {}), IsolationPlan{});
  view.partitions = Partitions::kNone;
  EXPECT_EQ(plan_kernel_threads(view, wish("4-5"), {}).changes.size(), 1U);
}

TEST(PlanKernelThreads, ForgetsThoseThatHaveEnded) {
  MachineView view{
      .kernel_threads = {kernel_thread(2, "kthreadd", "0-7"), kernel_thread(60, "kauditd", "0-7")}};
  IsolationJournal journal;
  for (const Change& change : plan_kernel_threads(view, wish("4"), {}).changes) {
    note(journal, change);
  }
  note(journal, {.target = {Target::Kind::kTask, "7 7"}, .value = "0"});
  view.kernel_threads.pop_back();
  forget_ended_threads(journal, view);
  EXPECT_EQ(journal.entries.size(), 2U);
  EXPECT_EQ(find_entry(journal, {Target::Kind::kTask, "60 9"}), nullptr);
  forget_ended_threads(journal, {});
  EXPECT_EQ(journal.entries.size(), 2U) << "where they cannot be read";
}

TEST(PlanWatchdog, KeepsItOffHeldCpus) {
  const MachineView view{.watchdog = KernelFile{"/w", "0-7"}};
  EXPECT_THAT(lines(plan_watchdog(view, wish("0-1"), {})), ElementsAre("/w=2-7"));
  EXPECT_EQ(plan_watchdog({}, wish("0-1"), {}), IsolationPlan{});
}

TEST(PlanTimerMigration, IsOffWhileAnyCpuIsHeld) {
  MachineView view{.facts = {.major = 6, .minor = 12}, .timer_migration = KernelFile{"/t", "1"}};
  IsolationJournal journal;
  EXPECT_EQ(plan_timer_migration(view, wish(""), journal), IsolationPlan{});
  const auto plan = plan_timer_migration(view, wish("4"), journal);
  EXPECT_THAT(lines(plan), ElementsAre("/t=0"));
  note(journal, plan.changes[0]);
  view.timer_migration->text = "0";
  EXPECT_EQ(plan_timer_migration(view, wish("4"), journal), IsolationPlan{});
  EXPECT_THAT(lines(plan_timer_migration(view, wish(""), journal)), ElementsAre("/t=1"));
}

TEST(PlanTimerMigration, IsLeftToKernelsThatChooseTheCpusThemselves) {
  const MachineView view{.facts = {.major = 7, .minor = 0},
                         .timer_migration = KernelFile{"/t", "1"}};
  EXPECT_EQ(plan_timer_migration(view, wish("4"), {}), IsolationPlan{});
}

TEST(PlanSleepStates, KeepsHeldCpusOutOfThem) {
  MachineView view{.resume_latency = {{CpuId(4), {"/4", "0"}}, {CpuId(5), {"/5", "100"}}}};
  IsolationJournal journal;
  for (const auto& plan : {plan_sleep_states(view, wish("4-5"), journal)}) {
    EXPECT_THAT(lines(plan), ElementsAre("/4=n/a", "/5=n/a"));
    for (const Change& change : plan.changes) note(journal, change);
  }
  for (auto& [cpu, latency] : view.resume_latency) latency.text = "n/a";
  EXPECT_THAT(lines(plan_sleep_states(view, wish("4"), journal)), ElementsAre("/5=100"));
}

TEST(PlanIrqsLevel, TellsIrqBalanceBeforeItMovesInterrupts) {
  const Leftover silent{.what = "irqbalance"};
  const MachineView view{.interrupts = {{24, interrupt(24, "0-7")}},
                         .irqbalance = {{.socket = "s"}},
                         .unread = {silent}};
  const auto plan = plan_irqs_level(view, wish("4"), {});
  EXPECT_THAT(lines(plan), ElementsAre("s=4", "/proc/irq/24/smp_affinity_list=0-3,5-7"));
  EXPECT_THAT(plan.leftovers, ElementsAre(silent));
}

TEST(PlanFullLevel, HasAllParts) {
  const MachineView view{.workqueues = {{"/w/cpumask", "ff"}},
                         .kernel_threads = {kernel_thread(2, "kthreadd", "0-63")},
                         .watchdog = KernelFile{"/w", "0-7"},
                         .timer_migration = KernelFile{"/t", "1"},
                         .resume_latency = {{CpuId(4), {"/4", "0"}}}};
  EXPECT_THAT(lines(plan_full_level(view, wish("4"), {})),
              ElementsAre("/w/cpumask=ef", "2 9=0-3,5-7", "/w=0-3,5-7", "/t=0", "/4=n/a"));
}

TEST(PlanFullLevel, WantsNothingOfAKernelThatHasNoneOfTheFiles) {
  EXPECT_EQ(plan_full_level({}, wish("4"), {}), IsolationPlan{});
}

}  // namespace
}  // namespace corehold
