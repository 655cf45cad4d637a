// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel: confined, whatever they do; ended, and how; nothing left.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

TEST_F(ProcessContainers, RunOnTheirCpusOnly) {
  const Launch launch =
      bench_.shell("main", "grep Cpus_allowed_list /proc/self/status; sleep 1000", "1");
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(writes(launch, "Cpus_allowed_list:\t1\n")) << bench_.log_of(launch);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_EQ(seen->cpus.str(), "1");
  EXPECT_FALSE(seen->strayed);
  EXPECT_GT(seen->started_at.count(), 0);
  ASSERT_TRUE(seen->pod) << seen->pod_error;
  EXPECT_EQ(seen->pod->name, "kept");
}

TEST_F(ProcessContainers, EndWithTheCodeOfTheirCommand) {
  const Launch launch = bench_.shell("main", "exit 7", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->container, launch.container);
  EXPECT_EQ(end->exit.code, 7);
  EXPECT_EQ(end->exit.signal, 0);
  EXPECT_EQ(end->exit.cause, ExitCause::kEnded);
  EXPECT_GT(end->exit.started_at.count(), 0);
  EXPECT_GE(end->exit.finished_at, end->exit.started_at);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->running);
  ASSERT_TRUE(seen->exit);
  EXPECT_EQ(*seen->exit, end->exit);
}

TEST_F(ProcessContainers, AreKilledWhenTheirGraceIsOver) {
  const Launch launch =
      bench_.shell("main", "trap '' TERM; echo ready; while :; do sleep 0.1; done", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "ready"));
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::milliseconds(50)));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.signal, SIGKILL);
  EXPECT_GE(end->exit.finished_at - end->exit.started_at, std::chrono::milliseconds(50));
}

TEST_F(ProcessContainers, AreKilledSoonerWhenTheyAreAskedAgainWithLessTime) {
  const Launch launch = bench_.shell(
      "main", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.1; done", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "ready"));
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::hours(1)));
  ASSERT_TRUE(writes(launch, "asked"));
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::hours(2)));
  EXPECT_TRUE(bench_.exits().empty());
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::milliseconds(20)));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.signal, SIGKILL);
  const std::string log = bench_.log_of(launch);
  EXPECT_EQ(log.find("asked"), log.rfind("asked")) << "asked once: " << log;
}

TEST_F(ProcessContainers, EndWithTheSignalThatEndedThem) {
  ASSERT_TRUE(bench_.start(bench_.shell("main", "kill -SEGV $$", "0-1")));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 128 + SIGSEGV);
  EXPECT_EQ(end->exit.signal, SIGSEGV);
}

TEST_F(ProcessContainers, AreToldToEndByTheirMainProcess) {
  const Launch launch = bench_.shell(
      "main", "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.01; done", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "ready"));
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::hours(1)));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 3);
  EXPECT_EQ(bench_.log_of(launch), "ready\ntold\n");
}

TEST_F(ProcessContainers, AreKilledWhole) {
  const Launch launch =
      bench_.shell("main", "trap '' TERM; setsid sh -c 'echo child $$; sleep 1000' & wait", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  ASSERT_GT(child, 0);
  ASSERT_TRUE(bench_.kill(launch.container));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 137);
  EXPECT_FALSE(status_of(child));
}

TEST_F(ProcessContainers, HoldWhatForksAndBecomesADaemon) {
  const Launch launch = bench_.shell(
      "main",
      "(setsid sh -c 'setsid sh -c \"echo daemon \\$\\$; exec sleep 1000\" &') & sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t daemon = pid_after(launch, "daemon ");
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(allowed_cpus(daemon), "1");
  ASSERT_TRUE(bench_.update(launch.container, "0"));
  EXPECT_EQ(allowed_cpus(daemon), "0");
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->strayed);
}

TEST_F(ProcessContainers, TakeWhatTheirCommandLeftBehindWithThem) {
  const Launch launch = bench_.shell(
      "main", "setsid sh -c 'echo left $$; exec sleep 1000' & sleep 0.2; exit 5", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t left = pid_after(launch, "left ");
  ASSERT_GT(left, 0);
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 5);
  EXPECT_FALSE(status_of(left));
}

TEST_F(ProcessContainers, TakeWhatHasLostItsFirstThreadWithThem) {
  const std::string program = bench_.root() + "/headless.py";
  std::ofstream(program) << kHeadless << std::flush;
  const Launch launch = bench_.shell(
      "main",
      fmt::format("setsid python3 {} & read line < {}/fifo; exit 5", program, bench_.root()), "1");
  ASSERT_EQ(::mkfifo((bench_.root() + "/fifo").c_str(), 0600), 0);
  ASSERT_TRUE(bench_.start(launch));
  const pid_t headless = pid_after(launch, "headless ");
  ASSERT_GT(headless, 0);
  ASSERT_TRUE(bench_.eventually([&] { return status_of(headless)->state == 'Z'; }));
  EXPECT_EQ(bench_.look(launch.container)->strayed, false);
  ASSERT_TRUE(bench_.update(launch.container, "0"));
  std::ofstream(bench_.root() + "/fifo") << "go" << std::endl;
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 5);
  EXPECT_TRUE(has_ended(headless));
}

TEST_F(ProcessContainers, AreKilledThoughTheyForkAllTheTime) {
  std::array<char, 4096> self{};
  ASSERT_GT(::readlink("/proc/self/exe", self.data(), self.size() - 1), 0);
  const Launch launch =
      bench_.shell("main",
                   fmt::format("for i in 1 2 3; do {} fork-for-ever & done; echo ready; sleep 1000",
                               self.data()),
                   "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "ready"));
  ASSERT_TRUE(bench_.kill(launch.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  EXPECT_EQ(*read_kernel_file(own + "/cgroup.procs"), "");
  EXPECT_TRUE(bench_.remove(launch.container));
}

TEST_F(ProcessContainers, CannotChooseOtherCpus) {
  const Launch launch =
      bench_.shell("main", "taskset -p -c 0 $$; taskset -p -c 0-1 $$; sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "new affinity list: 1\n")) << bench_.log_of(launch);
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  EXPECT_EQ(allowed_cpus(main->process.pid), "1");
}

TEST_F(ProcessContainers, LeaveTheAffinityOfTheirAgentBehind) {
  cpu_set_t one{};
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  cpu_set_t before{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Launch launch = bench_.shell("main", "echo ready; sleep 1000", "0");
  const auto started = bench_.start(launch);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(started);
  ASSERT_TRUE(bench_.update(launch.container, "0-1"));
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  EXPECT_EQ(allowed_cpus(main->process.pid), "0-1");
}

TEST_F(ProcessContainers, ShrinkAndGrowWithTheCpusetsTheyMadeInside) {
  if (bench_.is_v2()) GTEST_SKIP() << "cgroup v2 does that itself";
  const Launch launch = bench_.shell("main", "sleep 1000", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  for (const char* name : {"/all", "/all/deeper", "/second"}) {
    ASSERT_EQ(::mkdir((own + name).c_str(), 0755), 0);
    ASSERT_TRUE(write_kernel_file(own + name + "/cpuset.mems", "0"));
    ASSERT_TRUE(write_kernel_file(own + name + "/cpuset.cpus", "0-1"));
  }
  ASSERT_TRUE(write_kernel_file(own + "/second/cpuset.cpus", "1"));
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  ASSERT_TRUE(
      write_kernel_file(own + "/all/deeper/cgroup.procs", std::to_string(main->process.pid)));
  const auto shrunk = bench_.update(launch.container, "0");
  ASSERT_TRUE(shrunk) << shrunk.error().message;
  EXPECT_EQ(allowed_cpus(main->process.pid), "0");
  EXPECT_EQ(*read_kernel_file(own + "/second/cpuset.cpus"), "0");
  ASSERT_TRUE(bench_.update(launch.container, "0-1"));
  EXPECT_EQ(allowed_cpus(main->process.pid), "0-1");
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(allowed_cpus(main->process.pid), "1");
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->strayed);
  EXPECT_EQ(seen->cpus.str(), "1");
}

TEST_F(ProcessContainers, StayConfinedInCgroupsTheyMadeInside) {
  if (!bench_.is_v2()) GTEST_SKIP() << "cgroup v1 has a test of its own";
  const Launch launch = bench_.shell("main", "sleep 1000 & echo child $!; wait", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  ASSERT_EQ(::mkdir((own + "/inner").c_str(), 0755), 0);
  for (const pid_t pid : {child, main->process.pid}) {
    ASSERT_TRUE(write_kernel_file(own + "/inner/cgroup.procs", std::to_string(pid)));
  }
  ASSERT_TRUE(write_kernel_file(own + "/cgroup.subtree_control", "+cpuset"));
  ASSERT_TRUE(write_kernel_file(own + "/inner/cpuset.cpus", "0-1"));
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(allowed_cpus(child), "1");
  // One that leaves can come back only into a leaf.
  ASSERT_TRUE(write_kernel_file(bench_.outside() + "/cgroup.procs", std::to_string(child)));
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  const auto updated = bench_.update(launch.container, "0");
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(allowed_cpus(child), "0");
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
}

TEST_F(ProcessContainers, CountAsMuchAsTheyAskedFor) {
  Launch launch = bench_.shell("main", "sleep 1000", "0-1");
  launch.placement.limits.cpu_shares = 1536;
  launch.placement.limits.quota = 1500;
  ASSERT_TRUE(bench_.start(launch));
  Launch other = bench_.shell("other", "sleep 1000", "0-1");
  other.placement.limits.cpu_shares = 512;
  ASSERT_TRUE(bench_.start(other));
  const std::string own = bench_.cgroup_of("cpu", launch.container);
  const std::string unlimited = bench_.cgroup_of("cpu", other.container);
  if (bench_.is_v2()) {
    EXPECT_EQ(*read_kernel_file(own + "/cpu.weight"), "59");
    EXPECT_EQ(*read_kernel_file(own + "/../cpu.weight"), "79");
    EXPECT_EQ(*read_kernel_file(own + "/cpu.max"), "150000 100000");
    EXPECT_EQ(*read_kernel_file(unlimited + "/cpu.max"), "max 100000");
  } else {
    EXPECT_EQ(*read_kernel_file(own + "/cpu.shares"), "1536");
    EXPECT_EQ(*read_kernel_file(own + "/../cpu.shares"), "2048");
    EXPECT_EQ(*read_kernel_file(own + "/cpu.cfs_quota_us"), "150000");
    EXPECT_EQ(*read_kernel_file(unlimited + "/cpu.cfs_quota_us"), "-1");
  }
}

// Whether a memory limit can be had here, and whether memory can go elsewhere.
bool has_memory(RuntimeBench& bench) {
  return bench.runtime().capabilities().note.find("memory limits have no effect") ==
         std::string::npos;
}
bool has_swap() { return read_kernel_file("/proc/swaps")->find('\n') != std::string::npos; }

TEST_F(ProcessContainers, MayUseAsMuchMemoryAsTheirLimit) {
  if (!has_memory(bench_)) GTEST_SKIP() << bench_.runtime().capabilities().note;
  Launch launch = bench_.shell("main", "sleep 1000", "0-1");
  launch.placement.limits.memory_limit = 64 << 20;
  ASSERT_TRUE(bench_.start(launch));
  const std::string own = bench_.cgroup_of("memory", launch.container);
  const std::string file = own + (bench_.is_v2() ? "/memory.max" : "/memory.limit_in_bytes");
  EXPECT_EQ(*read_kernel_file(file), "67108864");
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  EXPECT_THAT(*read_kernel_file(own + "/cgroup.procs"),
              HasSubstr(std::to_string(main->process.pid)));
  const CpuSet cpus = launch.placement.cpus;
  for (const std::int64_t limit : {128 << 20, 32 << 20}) {
    const auto updated =
        bench_.update(launch.container, Placement{.cpus = cpus, .limits = {.memory_limit = limit}});
    ASSERT_TRUE(updated) << updated.error().message;
    EXPECT_EQ(*read_kernel_file(file), std::to_string(limit));
  }
  // Whoever has left is brought back there too.
  const std::string elsewhere = bench_.is_v2() ? bench_.outside() : own + "/../../..";
  ASSERT_TRUE(write_kernel_file(elsewhere + "/cgroup.procs", std::to_string(main->process.pid)));
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  ASSERT_TRUE(bench_.update(launch.container, "0-1"));
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  EXPECT_EQ(*read_kernel_file(file), bench_.is_v2() ? "max" : "9223372036854771712");
}

TEST_F(ProcessContainers, ThatUseMoreMemoryThanTheirLimitAreKilled) {
  if (!has_memory(bench_) || has_swap()) GTEST_SKIP() << "there is no limit, or there is swap";
  Launch launch = bench_.shell("main", "head -c 100000000 /dev/zero | tail", "0-1");
  launch.placement.limits.memory_limit = 16 << 20;
  ASSERT_TRUE(bench_.start(launch));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 137);
  EXPECT_EQ(end->exit.cause, ExitCause::kOutOfMemory);
  // It is not the next attempt's fault.
  launch.attempt = 1;
  launch.command = {"/bin/sh", "-c", "exit 1"};
  ASSERT_TRUE(bench_.start(launch));
  const auto next = bench_.wait_for_exit();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->exit.code, 1);
  EXPECT_EQ(next->exit.cause, ExitCause::kEnded);
}

TEST_F(ProcessContainers, AreNotKilledByALimitBelowWhatTheyUse) {
  if (!has_memory(bench_) || has_swap()) GTEST_SKIP() << "there is no limit, or there is swap";
  // tail keeps what may be the last line.
  Launch launch = bench_.shell(
      "main", "(head -c 8000000 /dev/zero; echo ready >&2; exec sleep 1000) | tail", "0-1");
  launch.placement.limits.memory_limit = 256 << 20;
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(writes(launch, "ready"));
  const auto updated =
      bench_.update(launch.container,
                    Placement{.cpus = *CpuSet::parse("1"), .limits = {.memory_limit = 4 << 20}});
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().code, Code::kConflict);
  EXPECT_THAT(updated.error().message, HasSubstr("memory limit (4194304) below current usage ("));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_EQ(seen->cpus.str(), "1");
  const std::string file = bench_.cgroup_of("memory", launch.container) +
                           (bench_.is_v2() ? "/memory.max" : "/memory.limit_in_bytes");
  EXPECT_EQ(*read_kernel_file(file), "268435456");
}

TEST_F(ProcessContainers, LeaveNothingWhenRemoved) {
  Launch launch = bench_.shell("main", "exit 0", "1");
  launch.placement.limits.memory_limit = 64 << 20;
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  ASSERT_EQ(::mkdir((own + "/nested").c_str(), 0755), 0);
  const auto tops = bench_.tops();
  const auto removed = bench_.remove(launch.container);
  ASSERT_TRUE(removed) << removed.error().message;
  for (const std::string& top : tops) EXPECT_NE(::access(top.c_str(), F_OK), 0) << top;
  EXPECT_NE(::access((bench_.root() + "/containers/" + launch.container.pod).c_str(), F_OK), 0);
  EXPECT_TRUE(bench_.list()->empty());
  EXPECT_TRUE(bench_.remove(launch.container));
}

TEST_F(ProcessContainers, AreNotRemovedWhileTheyRun) {
  const Launch launch = bench_.shell("main", "sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  const auto removed = bench_.remove(launch.container);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kConflict);
  const auto again = bench_.start(launch);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kConflict);
}

TEST_F(ProcessContainers, StartAgainInThePlaceOfAnEarlierAttempt) {
  Launch launch = bench_.shell("main", "echo attempt; exit 1", "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  launch.attempt = 1;
  ASSERT_TRUE(bench_.start(launch));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->attempt, 1);
}

TEST_F(ProcessContainers, FailToStartWithTheReasonAndWithoutATrace) {
  Launch launch = bench_.shell("main", "", "1");
  launch.command = {"/no/such/program"};
  const auto started = bench_.start(launch);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message,
              HasSubstr("start container main (pod " + launch.container.pod +
                        "): run /no/such/program: ENOENT"));
  EXPECT_TRUE(bench_.list()->empty());
  EXPECT_NE(::access(bench_.cgroup_of("cpuset", launch.container).c_str(), F_OK), 0);

  launch.command = {"true"};
  launch.working_directory = "/no/such/directory";
  const auto elsewhere = bench_.start(launch);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message,
              HasSubstr("change to working directory /no/such/directory: ENOENT"));
  EXPECT_TRUE(bench_.exits().empty());
}

TEST_F(ProcessContainers, FailToStartOnCpusTheMachineDoesNotHave) {
  const auto started = bench_.start(bench_.shell("main", "sleep 1000", "4000"));
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("to 4000: write /sys/fs/cgroup/"));
  EXPECT_TRUE(bench_.list()->empty());
}

TEST_F(ProcessContainers, FailToStartOnAFullDisk) {
  const std::string directory = bench_.root() + "/containers";
  ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0);
  ASSERT_EQ(::mount("test", directory.c_str(), "tmpfs", 0, "size=4k"), 0);
  std::ofstream(directory + "/filler") << std::string(4096, 'x') << std::flush;
  const auto started = bench_.start(bench_.shell("main", "sleep 1000", "1"));
  const auto listed = bench_.list();
  EXPECT_EQ(::umount2(directory.c_str(), MNT_DETACH), 0);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("launch.json"));
  EXPECT_THAT(started.error().message, HasSubstr("ENOSPC"));
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->empty());
  for (const std::string& top : bench_.tops()) EXPECT_NE(::access(top.c_str(), F_OK), 0) << top;
}

TEST_F(ProcessContainers, ToldToEndWhileTheyStartEndWhenTheyHaveStarted) {
  const Launch launch = bench_.shell("main", "exec sleep 1000", "1");
  std::optional<Result<Started>> started;
  bench_.runtime().launch(launch, [&](Result<Started> done) { started = std::move(done); });
  ASSERT_TRUE(bench_.stop(launch.container, std::chrono::hours(1)));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.signal, SIGTERM);
  ASSERT_TRUE(started.has_value());
  EXPECT_TRUE(*started);
}

TEST_F(ProcessContainers, MayRunAnywhereWhenNotConfined) {
  const Launch launch = bench_.shell("main", "sleep 1000", "");
  ASSERT_TRUE(bench_.start(launch));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->cpus.str(), all_cpus());
}

}  // namespace
}  // namespace corehold
