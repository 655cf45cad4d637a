// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel: confined, whatever they do; ended, and how; nothing left.
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/monitor.h"
#include "runtime/testing.h"
#include "sys/directory.h"
#include "sys/kernel_file.h"
#include "sys/process.h"

namespace corehold {
namespace {

using testing::HasSubstr;

std::string link_of(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

// A program of two threads that says its number and ends the first.
constexpr std::string_view kHeadless =
    "import ctypes,os,threading,time\n"
    "threading.Thread(target=time.sleep,args=(1000,)).start()\n"
    "print('headless',os.getpid(),flush=True)\n"
    "ctypes.CDLL(None).syscall(60,0)\n";

class ProcessContainers : public testing::Test {
 protected:
  explicit ProcessContainers(RuntimeBench::Kind kind = RuntimeBench::Kind::kCgroup)
      : bench_(kind) {}

  bool writes(const Launch& launch, const std::string& text) {
    return bench_.eventually([&] { return bench_.log_of(launch).find(text) != std::string::npos; });
  }
  // The number after KEY in what the container has written.
  pid_t pid_after(const Launch& launch, const std::string& key) {
    writes(launch, key);
    const std::string log = bench_.log_of(launch);
    const std::size_t at = log.find(key);
    return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + key.size());
  }
  ProcessId keeper_of(const Launch& launch) {
    const auto keeper = ContainerDirectory::of(bench_.root(), launch.container).read_keeper();
    return keeper ? keeper->process : ProcessId{};
  }
  bool is_gone(pid_t pid) {
    return bench_.eventually([&] { return has_ended(pid); });
  }

  RuntimeBench bench_;
};

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
  EXPECT_EQ(seen->manifest, "{}");
}

TEST_F(ProcessContainers, EndWithTheCodeOfTheirCommand) {
  const Launch launch = bench_.shell("main", "exit 7", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->container, launch.container);
  EXPECT_EQ(end->exit.code, 7);
  EXPECT_EQ(end->exit.signal, 0);
  EXPECT_TRUE(end->exit.known);
  EXPECT_GT(end->exit.finished_at.count(), 0);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->running);
  ASSERT_TRUE(seen->exit);
  EXPECT_EQ(*seen->exit, end->exit);
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
  ASSERT_TRUE(bench_.signal(launch.container, SIGTERM));
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
  ASSERT_TRUE(bench_.signal(launch.container, SIGKILL));
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
  launch.confines.cpu_shares = 1536;
  launch.confines.quota_millis = 1500;
  ASSERT_TRUE(bench_.start(launch));
  Launch other = bench_.shell("other", "sleep 1000", "0-1");
  other.confines.cpu_shares = 512;
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

TEST_F(ProcessContainers, LeaveNothingWhenRemoved) {
  const Launch launch = bench_.shell("main", "exit 0", "1");
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
  std::optional<Result<void>> started;
  bench_.runtime().start(launch, [&](Result<void> done) { started = std::move(done); });
  ASSERT_TRUE(bench_.signal(launch.container, SIGTERM));
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

// --- drift

TEST_F(ProcessContainers, AreSeenToHaveAnotherCpusetAndGetTheirsBack) {
  const Launch launch = bench_.shell("main", "sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(
      write_kernel_file(bench_.cgroup_of("cpuset", launch.container) + "/cpuset.cpus", "0-1"));
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "0-1");
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "1");
}

TEST_F(ProcessContainers, AreBroughtBackWhenMovedOut) {
  const Launch launch = bench_.shell("main", "sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  ASSERT_GT(child, 0);
  ASSERT_TRUE(write_kernel_file(bench_.outside() + "/cgroup.procs", std::to_string(child)));
  EXPECT_EQ(allowed_cpus(child), all_cpus());
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  const auto updated = bench_.update(launch.container, "1");
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  EXPECT_EQ(allowed_cpus(child), "1");
}

TEST_F(ProcessContainers, AreBroughtBackThreadByThread) {
  if (bench_.is_v2()) GTEST_SKIP() << "cgroup v2 keeps the threads of a process together";
  Launch launch = bench_.shell("main", "", "1");
  launch.command = {"python3", "-c",
                    "import threading,time\n"
                    "t=threading.Thread(target=time.sleep,args=(1000,),daemon=True);t.start()\n"
                    "print('thread',t.native_id,flush=True);time.sleep(1000)"};
  ASSERT_TRUE(bench_.start(launch));
  const pid_t thread = pid_after(launch, "thread ");
  ASSERT_GT(thread, 0);
  ASSERT_TRUE(write_kernel_file(bench_.outside() + "/tasks", std::to_string(thread)));
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  EXPECT_EQ(allowed_cpus(thread), "1");
}

TEST_F(ProcessContainers, GetTheirCgroupBackWhenItWasRemoved) {
  const Launch launch = bench_.shell("main", "sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  for (const pid_t pid : {child, main->process.pid}) {
    ASSERT_TRUE(write_kernel_file(bench_.outside() + "/cgroup.procs", std::to_string(pid)));
  }
  ASSERT_EQ(::rmdir(own.c_str()), 0);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_TRUE(seen->strayed);
  const auto updated = bench_.update(launch.container, "1");
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(allowed_cpus(child), "1");
  EXPECT_EQ(allowed_cpus(main->process.pid), "1");
}

// --- the monitor

TEST_F(ProcessContainers, OutliveTheirAgentAndAreFoundAgain) {
  const Launch launch = bench_.shell("main", "echo ready; read line < FIFO; exit 9", "1");
  Launch with_fifo = launch;
  const std::string fifo = bench_.root() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  with_fifo.command[2].replace(with_fifo.command[2].find("FIFO"), 4, fifo);
  with_fifo.attempt = 4;
  ASSERT_TRUE(bench_.start(with_fifo));
  ASSERT_TRUE(writes(with_fifo, "ready"));
  bench_.restart();
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_EQ(seen->attempt, 4);
  EXPECT_EQ(seen->cpus.str(), "1");
  EXPECT_EQ(seen->manifest, "{}");
  EXPECT_GT(seen->started_at.count(), 0);
  std::ofstream(fifo) << "go" << std::endl;
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.code, 9);
  EXPECT_EQ(end->attempt, 4);
}

TEST_F(ProcessContainers, TellTheNextAgentHowTheyEndedMeanwhile) {
  const Launch launch = bench_.shell("main", "sleep 0.1; exit 6", "1");
  ASSERT_TRUE(bench_.start(launch));
  const ProcessId keeper = keeper_of(launch);
  bench_.restart();
  ASSERT_TRUE(bench_.eventually([&] { return !is_running(keeper); }));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->running);
  ASSERT_TRUE(seen->exit);
  EXPECT_EQ(seen->exit->code, 6);
  EXPECT_TRUE(bench_.exits().empty());
}

TEST_F(ProcessContainers, SurviveAnAgentThatIsKilled) {
  const Launch launch = bench_.shell("main", "while :; do echo on; sleep 0.01; done", "1");
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    boost::asio::io_context loop;
    ProcessRuntime runtime(loop, {.root = bench_.root()}, find_confinement({.name = bench_.name()}),
                           {});
    runtime.start(launch, [&](const Result<void>& done) {
      static_cast<void>(::write(ready[1], done ? "y" : "n", 1));
    });
    loop.run();
    ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  EXPECT_EQ(answer, 'y');
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  const std::size_t written = bench_.log_of(launch).size();
  EXPECT_TRUE(bench_.eventually([&] { return bench_.log_of(launch).size() > written; }));
}

// An agent that is killed at a random moment of a start leaves a container that runs, or
// nothing at all.
TEST_F(ProcessContainers, StartWholeOrNotAtAll) {
  int running = 0;
  for (int round = 0; round < 40; ++round) {
    const Launch launch = bench_.shell(fmt::format("c{}", round), "sleep 1000", "1");
    const pid_t agent = ::fork();
    if (agent == 0) {
      boost::asio::io_context loop;
      ProcessRuntime runtime(loop, {.root = bench_.root()},
                             find_confinement({.name = bench_.name()}), {});
      runtime.start(launch, [](const Result<void>&) {});
      loop.run();
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round * 1000));
    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);
    const auto seen = bench_.look(launch.container);
    const std::string own = bench_.cgroup_of("cpuset", launch.container);
    if (seen) {
      ++running;
      EXPECT_TRUE(seen->running) << round;
      EXPECT_EQ(seen->cpus.str(), "1") << round;
      const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
      ASSERT_TRUE(main) << round;
      EXPECT_EQ(allowed_cpus(main->process.pid), "1") << round;
      ASSERT_TRUE(bench_.signal(launch.container, SIGKILL));
      ASSERT_TRUE(bench_.wait_for_exit()) << round;
      EXPECT_TRUE(bench_.remove(launch.container));
    }
    EXPECT_NE(::access(own.c_str(), F_OK), 0) << round;
  }
  EXPECT_GT(running, 0);
}

TEST_F(ProcessContainers, EndWithAMonitorThatIsKilled) {
  const Launch launch =
      bench_.shell("main", "setsid sleep 1000 & echo child $!; echo main $$; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const pid_t main = pid_after(launch, "main ");
  ASSERT_TRUE(*send_signal(keeper_of(launch), SIGKILL));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->exit.known);
  EXPECT_TRUE(is_gone(child));
  EXPECT_TRUE(is_gone(main));
  EXPECT_TRUE(bench_.remove(launch.container));
}

TEST_F(ProcessContainers, EndWithAMonitorThatIsKilledWhileThereIsNoAgent) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const ProcessId keeper = keeper_of(launch);
  bench_.restart();
  ASSERT_TRUE(*send_signal(keeper, SIGKILL));
  ASSERT_TRUE(bench_.eventually([&] { return !is_running(keeper); }));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->running);
  ASSERT_TRUE(seen->exit);
  EXPECT_FALSE(seen->exit->known);
  EXPECT_TRUE(is_gone(child));
}

TEST_F(ProcessContainers, AreKeptByAMonitorWithNothingOfTheAgents) {
  const Launch launch = bench_.shell("main", "ls /proc/self/fd | xargs; sleep 1000", "1");
  std::array<int, 2> leak{};
  ASSERT_EQ(::pipe(leak.data()), 0);  // on purpose not close-on-exec
  ASSERT_TRUE(bench_.start(launch));
  const ProcessId keeper = keeper_of(launch);
  for (const int fd : {leak[0], leak[1]}) {
    const std::string path = fmt::format("/proc/{}/fd/", keeper.pid);
    const auto names = entries_of(path);
    ASSERT_TRUE(names);
    const std::string ours = link_of(fmt::format("/proc/self/fd/{}", fd));
    for (const std::string& name : *names) EXPECT_NE(link_of(path + name), ours);
    ::close(fd);
  }
  EXPECT_EQ(::getsid(keeper.pid), keeper.pid);
  // Three, and the one that ls has opened itself.
  EXPECT_TRUE(writes(launch, "0 1 2 3\n")) << bench_.log_of(launch);
}

TEST_F(ProcessContainers, WriteBothOutputsToTheirLog) {
  const Launch launch = bench_.shell("main", "echo out; echo err >&2; printf unfinished", "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  const std::string log = bench_.log_of(launch);
  EXPECT_THAT(log, HasSubstr("out\n"));
  EXPECT_THAT(log, HasSubstr("err\n"));
  EXPECT_TRUE(log.ends_with("unfinished")) << log;
}

TEST_F(ProcessContainers, LoseNoOutputOfALongWriter) {
  const Launch launch = bench_.shell("main", "seq 1 50000", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  const std::string log = bench_.log_of(launch);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 50000);
  EXPECT_TRUE(log.ends_with("\n50000\n"));
}

// --- user, environment

TEST_F(ProcessContainers, RunAsTheUserAndGroupsAskedFor) {
  Launch launch = bench_.shell("main", "id -u; id -g; id -G", "1");
  launch.user = 65534;
  launch.group = 1234;
  launch.groups = {2000, 3000};
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_EQ(bench_.log_of(launch), "65534\n1234\n1234 2000 3000\n");
}

TEST_F(ProcessContainers, DieWithTheirMonitorAsAnotherUserToo) {
  Launch launch = bench_.shell("main", "echo main $$; exec sleep 1000", "1");
  launch.user = 65534;
  ASSERT_TRUE(bench_.start(launch));
  const pid_t main = pid_after(launch, "main ");
  bench_.restart();  // nobody but the kernel is left to do it
  const ProcessId keeper = keeper_of(launch);
  ASSERT_TRUE(*send_signal(keeper, SIGKILL));
  EXPECT_TRUE(is_gone(main));
}

TEST_F(ProcessContainers, HaveTheirOwnEnvironmentAndDirectory) {
  Launch launch = bench_.shell("main", "pwd; echo $GREETING; env | grep -c CLUTTER", "1");
  ::setenv("CLUTTER", "1", 1);
  launch.working_directory = "/proc";
  launch.environment = {{"GREETING", "hello"}};
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.wait_for_exit());
  ::unsetenv("CLUTTER");
  EXPECT_EQ(bench_.log_of(launch), "/proc\nhello\n0\n");
}

// --- `corehold run`

TEST_F(ProcessContainers, TakeInTheChildOfAClient) {
  std::array<int, 2> gate{};
  std::array<int, 2> born{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  ASSERT_EQ(::pipe(born.data()), 0);
  const pid_t client = ::fork();
  if (client == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      char go = 0;
      static_cast<void>(::read(gate[0], &go, 1));
      ::execlp("sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
    static_cast<void>(::write(born[1], &child, sizeof child));
    ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(born[0], &child, sizeof child), ssize_t{sizeof child});
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = child;
  launch.attached_to = client;
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(allowed_cpus(child), "1");
  EXPECT_EQ(allowed_cpus(client), all_cpus());
  ASSERT_EQ(::write(gate[1], "g", 1), 1);
  bench_.restart();
  EXPECT_TRUE(bench_.look(launch.container)->running);
  ASSERT_TRUE(bench_.update(launch.container, "0"));
  EXPECT_EQ(allowed_cpus(child), "0");
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->exit.known);
  EXPECT_TRUE(is_gone(child));
}

TEST_F(ProcessContainers, DoNotTakeInSomebodyElsesProcess) {
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = ::getppid();
  launch.attached_to = ::getpid();
  const auto started = bench_.start(launch);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("is no child of process"));
  EXPECT_TRUE(bench_.list()->empty());
}

// --- without cgroups

class AffinityContainers : public ProcessContainers {
 protected:
  AffinityContainers() : ProcessContainers(RuntimeBench::Kind::kAffinity) {}
};

TEST_F(AffinityContainers, RunOnTheirCpusWithAllTheyStart) {
  const Launch launch =
      bench_.shell("main", "setsid sh -c 'echo daemon $$; sleep 1000' & echo main $$; wait", "1");
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  const pid_t daemon = pid_after(launch, "daemon ");
  const pid_t main = pid_after(launch, "main ");
  EXPECT_EQ(allowed_cpus(main), "1");
  EXPECT_EQ(allowed_cpus(daemon), "1");
  EXPECT_EQ(bench_.runtime().abilities().confinement, "affinity");
  ASSERT_TRUE(bench_.update(launch.container, "0"));
  EXPECT_EQ(allowed_cpus(main), "0");
  EXPECT_EQ(allowed_cpus(daemon), "0");
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "0");
  bench_.restart();
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "0");
}

TEST_F(AffinityContainers, AreBroughtBackWhenTheyChooseOtherCpus) {
  const Launch launch =
      bench_.shell("main", "taskset -p -c 0 $$ > /dev/null; echo moved $$; sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t main = pid_after(launch, "moved ");
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(allowed_cpus(main), "1");
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
}

TEST_F(AffinityContainers, TakeWhatHasLostItsFirstThreadWithThem) {
  Launch launch = bench_.shell("main", "", "1");
  launch.command = {"python3", "-c", std::string(kHeadless)};
  ASSERT_TRUE(bench_.start(launch));
  const pid_t headless = pid_after(launch, "headless ");
  ASSERT_TRUE(bench_.eventually([&] { return status_of(headless)->state == 'Z'; }));
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  ASSERT_TRUE(bench_.signal(launch.container, SIGKILL));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.signal, SIGKILL);
  EXPECT_TRUE(has_ended(headless));
}

TEST_F(AffinityContainers, EndWithAMonitorThatIsKilled) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  ASSERT_TRUE(*send_signal(keeper_of(launch), SIGKILL));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->exit.known);
  EXPECT_TRUE(is_gone(child));
}

}  // namespace
}  // namespace corehold

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "monitor") return corehold::run_monitor(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
