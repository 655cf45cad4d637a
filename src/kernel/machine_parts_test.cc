// SPDX-License-Identifier: Apache-2.0
//
// Levels irqs and full by the Isolator, on made files.
#include "kernel/machine_parts.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/isolator.h"
#include "kernel/testing.h"
#include "sys/file/kernel_file.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NoUnits final : public Units {
 public:
  void begin() override {}
  Result<CpuSet> allowed_cpus(const std::string& unit) override {
    return Error{Code::kNotFound, unit + " is gone"};
  }
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& /*set*/) override {
    return Error{Code::kNotFound, unit + " is gone"};
  }
};

const std::vector<std::pair<std::string, std::string>> kMachine{
    {"proc/irq/4/smp_affinity_list", "0-7"},
    {"proc/irq/24/smp_affinity_list", "2"},
    {"proc/irq/default_smp_affinity", "ff"},
    {"sys/devices/virtual/workqueue/cpumask", "ff"},
    {"sys/devices/virtual/workqueue/writeback/cpumask", "ff"},
    {"proc/sys/kernel/watchdog_cpumask", "0-7"},
    {"proc/sys/kernel/timer_migration", "1"},
    {"sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0"},
    {"sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us", "0"},
};

class IsolatedMachine : public testing::Test {
 protected:
  IsolatedMachine() {
    files_.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    files_.write("proc/sys/kernel/osrelease", "6.1.0\n");
    files_.write("sys/devices/system/cpu/online", "0-7\n");
    files_.write("cgroup/cgroup.subtree_control", "cpuset\n");
    for (const auto& [path, text] : kMachine) files_.write(path, text + "\n");
  }

  MachineReader::Places machine() const {
    return {.proc = files_.root() + "/proc",
            .sys = files_.root() + "/sys",
            .cgroup = files_.root() + "/cgroup",
            .irqbalance = {.directory = files_.root() + "/run"}};
  }
  Isolator isolator() {
    return {{.journal = files_.root() + "/isolation.json",
             .places = {.mount = files_.root() + "/cgroup",
                        .own = "/corehold",
                        .proc = files_.root() + "/proc"},
             .machine = machine()},
            units_};
  }
  static IsolationWish wish(std::string_view held, IsolationLevel level) {
    return {.level = level, .online = cpus("0-7"), .held = cpus(held)};
  }
  std::string get(const std::string& path) const {
    return *read_kernel_file(files_.root() + "/" + path);
  }
  void expect_as_before() const {
    for (const auto& [path, text] : kMachine) EXPECT_EQ(get(path), text) << path;
  }

  MadeFiles files_{};
  NoUnits units_{};
};

TEST_F(IsolatedMachine, HasNoInterruptsOnHeldCpusAtLevelIrqs) {
  Isolator isolator = this->isolator();
  const auto report = isolator.apply(wish("2,5", IsolationLevel::kIrqs));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->leftovers, IsEmpty());
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "0-1,3-4,6-7");
  EXPECT_EQ(get("proc/irq/24/smp_affinity_list"), "0-1,3-4,6-7");
  EXPECT_EQ(get("proc/irq/default_smp_affinity"), "db");
  EXPECT_EQ(get("sys/devices/virtual/workqueue/cpumask"), "ff");
  ASSERT_TRUE(isolator.apply(wish("5", IsolationLevel::kIrqs)));
  EXPECT_EQ(get("proc/irq/24/smp_affinity_list"), "2");
  ASSERT_TRUE(isolator.apply(wish("", IsolationLevel::kIrqs)));
  expect_as_before();
}

TEST_F(IsolatedMachine, HasTheKernelOffHeldCpusAtLevelFullAndGivesItBackWithALowerOne) {
  Isolator isolator = this->isolator();
  const auto report = isolator.apply(wish("2,5", IsolationLevel::kFull));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->leftovers, IsEmpty());
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "0-1,3-4,6-7");
  EXPECT_EQ(get("sys/devices/virtual/workqueue/cpumask"), "db");
  EXPECT_EQ(get("sys/devices/virtual/workqueue/writeback/cpumask"), "db");
  EXPECT_EQ(get("proc/sys/kernel/watchdog_cpumask"), "0-1,3-4,6-7");
  EXPECT_EQ(get("proc/sys/kernel/timer_migration"), "0");
  EXPECT_EQ(get("sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us"), "n/a");
  ASSERT_TRUE(isolator.apply(wish("2", IsolationLevel::kFull)));
  EXPECT_EQ(get("sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us"), "0");
  ASSERT_TRUE(isolator.apply(wish("2", IsolationLevel::kIrqs)));
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "0-1,3-7");
  EXPECT_EQ(get("proc/sys/kernel/watchdog_cpumask"), "0-7");
  // Another process, by the journal alone.
  ASSERT_TRUE(this->isolator().apply(wish("2", IsolationLevel::kContainers)));
  expect_as_before();
}

TEST_F(IsolatedMachine, LeavesWhatSomebodyElseHasWrittenSince) {
  Isolator isolator = this->isolator();
  ASSERT_TRUE(isolator.apply(wish("2,5", IsolationLevel::kIrqs)));
  files_.write("proc/irq/4/smp_affinity_list", "1\n");
  ASSERT_TRUE(isolator.apply(wish("2,5", IsolationLevel::kIrqs)));
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "1");
  files_.write("proc/irq/4/smp_affinity_list", "4-5\n");
  ASSERT_TRUE(isolator.apply(wish("2,5", IsolationLevel::kIrqs)));
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "4");
  ASSERT_TRUE(isolator.apply(wish("", IsolationLevel::kIrqs)));
  EXPECT_EQ(get("proc/irq/4/smp_affinity_list"), "4-5");
}

TEST_F(IsolatedMachine, NamesWhatTheKernelHasRefusedAndDoesNotTryAgain) {
  files_.write("proc/interrupts",
               "     CPU0\n 24:  7   PCI-MSIX-0000:00:04.0   1-edge      nvme0q1\n");
  MachineReader reader(machine());
  const auto parts = machine_parts(reader);
  IsolationJournal journal;
  const IsolationWish held = wish("2", IsolationLevel::kIrqs);
  const auto first = parts.at(0).plan(held, journal);
  ASSERT_TRUE(first);
  for (const Change& change : first->changes) {
    parts.at(0).refused(change, {.code = Code::kIo, .message = "write: EIO", .number = EIO});
  }
  const auto second = parts.at(0).plan(held, journal);
  ASSERT_TRUE(second);
  EXPECT_THAT(second->changes, IsEmpty());
  EXPECT_THAT(second->leftovers,
              ElementsAre(Leftover{.level = IsolationLevel::kIrqs,
                                   .stays = Leftover::Stays::kByNature,
                                   .what = "interrupts of devices that appear later",
                                   .reason = "the kernel refuses another value: EIO"},
                          Leftover{.level = IsolationLevel::kIrqs,
                                   .stays = Leftover::Stays::kByNature,
                                   .what = "interrupt 24 (nvme0q1, managed)",
                                   .reason = "the kernel refuses another value: EIO",
                                   .advice = "boot with isolcpus=managed_irq,2"}));
}

}  // namespace
}  // namespace corehold
