// SPDX-License-Identifier: Apache-2.0
#include "kernel/machine.h"

#include <cerrno>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MachineRead : public testing::Test {
 protected:
  MachineRead() {
    files_.write("proc/sys/kernel/osrelease", "6.1.0-37-amd64\n");
    files_.write("sys/devices/system/cpu/online", "0-1\n");
  }

  MachineReader reader() const {
    return MachineReader({.proc = files_.root() + "/proc",
                          .sys = files_.root() + "/sys",
                          .cgroup = files_.root() + "/cgroup",
                          .irqbalance = {.directory = files_.root() + "/run"}});
  }
  std::string path(const std::string& below) const { return files_.root() + "/" + below; }

  MadeFiles files_{};
};

TEST_F(MachineRead, IsNothingWhereTheKernelHasNothing) {
  EXPECT_EQ(reader().look_at_interrupts(), MachineView{});
  const auto view = reader().look_at_kernel();
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_THAT(view->workqueues, IsEmpty());
  EXPECT_FALSE(view->watchdog);
  EXPECT_FALSE(view->timer_migration);
  EXPECT_THAT(view->resume_latency, IsEmpty());
}

TEST_F(MachineRead, HasInterruptsWithTheirDevices) {
  files_.write("proc/interrupts",
               "           CPU0       CPU1\n"
               "  4:         10          0   IO-APIC   4-edge      ttyS0\n"
               " 24:          7          1   PCI-MSIX-0000:00:04.0   1-edge      nvme0q1\n");
  files_.write("proc/irq/4/smp_affinity_list", "0-1\n");
  files_.write("proc/irq/24/smp_affinity_list", "1\n");
  files_.write("proc/irq/9/smp_affinity_list", "0\n");
  files_.write("proc/irq/default_smp_affinity", "3\n");
  const MachineView view = reader().look_at_interrupts();
  ASSERT_EQ(view.interrupts.size(), 3U);
  EXPECT_EQ(view.interrupts.at(4).list_file, path("proc/irq/4/smp_affinity_list"));
  EXPECT_THAT(view.interrupts.at(4).devices, ElementsAre("ttyS0"));
  EXPECT_EQ(view.interrupts.at(4).affinity.allowed.str(), "0-1");
  EXPECT_EQ(view.interrupts.at(24).affinity.managed, Managed::kByName);
  EXPECT_THAT(view.interrupts.at(9).devices, IsEmpty());
  EXPECT_EQ(view.default_affinity, (KernelFile{path("proc/irq/default_smp_affinity"), "3"}));
}

TEST_F(MachineRead, HasTheSettingsOfTheKernel) {
  files_.write("sys/devices/virtual/workqueue/cpumask", "3\n");
  files_.write("sys/devices/virtual/workqueue/writeback/cpumask", "1\n");
  files_.write("proc/sys/kernel/watchdog_cpumask", "0-1\n");
  files_.write("proc/sys/kernel/timer_migration", "1\n");
  files_.write("sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "n/a\n");
  files_.write("cgroup/cpuset.cpus.isolated", "\n");
  EXPECT_EQ(reader().look_at_kernel()->partitions, Partitions::kNone);
  files_.write("cgroup/cpuset.cpus.isolated", "1\n");
  const auto full = reader().look_at_kernel();
  ASSERT_TRUE(full);
  EXPECT_EQ(full->facts.minor, 1);
  EXPECT_EQ(full->partitions, Partitions::kSome);
  EXPECT_THAT(
      full->workqueues,
      ElementsAre(KernelFile{path("sys/devices/virtual/workqueue/cpumask"), "3"},
                  KernelFile{path("sys/devices/virtual/workqueue/writeback/cpumask"), "1"}));
  EXPECT_EQ(full->watchdog->text, "0-1");
  EXPECT_EQ(full->timer_migration->text, "1");
  ASSERT_EQ(full->resume_latency.size(), 1U);
  EXPECT_EQ(full->resume_latency.at(CpuId(1)).text, "n/a");
}

TEST_F(MachineRead, HasKernelThreadsThatCanBeMoved) {
  const auto add = [this](const std::string& pid, const std::string& name, unsigned flags) {
    const std::string stat = fmt::format(
        "{} ({}) S 2 0 0 0 -1 {} 0 0 0 0 0 1 0 0 20 0 1 0 33 0 0 18446744073709551615 0 0 0 0 0 0 "
        "0 0 0 0 0 0 17 1 0 0 0 0 0\n",
        pid, name, flags);
    for (const std::string& directory :
         {fmt::format("proc/{}", pid), fmt::format("proc/{}/task/{}", pid, pid)}) {
      files_.write(directory + "/stat", stat);
      files_.write(directory + "/status",
                   fmt::format("Name:\t{}\nTgid:\t{}\nCpus_allowed_list:\t0-1\n", name, pid));
      files_.write(directory + "/cgroup", "0::/\n");
    }
  };
  add("2", "kthreadd", kTaskKernelThread);
  add("15", "ksoftirqd/0", kTaskKernelThread | kTaskBound);
  add("40", "kswapd0", kTaskKernelThread);
  add("900", "bash", 0);
  MachineReader reader = this->reader();
  const auto view = reader.look_at_kernel();
  ASSERT_TRUE(view);
  ASSERT_EQ(view->kernel_threads.size(), 2U);
  EXPECT_EQ(view->kernel_threads[0].name, "kthreadd");
  EXPECT_EQ(view->kernel_threads[1].name, "kswapd0");
  EXPECT_EQ(view->kernel_threads[1].start, 33U);
  EXPECT_EQ(view->kernel_threads[1].affinity.str(), "0-1");

  // Refusals of threads that have ended are forgotten.
  const Error error{.code = Code::kIo, .message = "", .number = EINVAL};
  reader.note_refusal({.target = {Target::Kind::kTask, "40 33"}, .value = "0"}, error);
  reader.note_refusal({.target = {Target::Kind::kTask, "41 33"}, .value = "0"}, error);
  const auto next = reader.look_at_kernel();
  ASSERT_TRUE(next);
  ASSERT_EQ(next->refused.size(), 1U);
  EXPECT_EQ(next->refused.begin()->first.name, "40 33");
  EXPECT_EQ(next->refused.begin()->second.name, "EINVAL");
}

TEST_F(MachineRead, KeepsTheMachinesAnswersUntilTheThingIsGone) {
  MachineReader reader = this->reader();
  const Target irq{Target::Kind::kFile, path("proc/irq/4/smp_affinity_list")};
  reader.note_refusal({.target = irq, .value = "0"},
                      {.code = Code::kIo, .message = "write x: EPERM", .number = EPERM});
  reader.note_refusal({.target = {Target::Kind::kFile, "gone"}, .value = "0"},
                      {.code = Code::kNotFound, .message = "open gone: ENOENT", .number = ENOENT});
  EXPECT_EQ(reader.look_at_interrupts().refused,
            (Refusals{{irq, {.number = EPERM, .name = "EPERM", .value = "0"}}}));
}

}  // namespace
}  // namespace corehold
