// SPDX-License-Identifier: Apache-2.0
//
// Monitors on the real kernel: they outlive the agent, whose container ends with them.
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

using testing::HasSubstr;

std::string link_of(const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

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
  ASSERT_TRUE(seen->pod) << seen->pod_error;
  EXPECT_EQ(seen->pod->name, "kept");
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
  const ProcessId supervisor = supervisor_of(launch);
  bench_.restart();
  ASSERT_TRUE(bench_.eventually([&] { return !is_running(supervisor); }));
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
    ProcessRuntime runtime(loop, {.workspace = {.context = {.root = bench_.root()}}},
                           find_confinement({.name = bench_.name()}), bench_);
    runtime.launch(launch, [&](const Result<Started>& done) {
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

// An agent that is killed at any moment of a start leaves a container that runs, or nothing at
// all. The first is killed when it has started one; how long that took says when to kill the
// others.
TEST_F(ProcessContainers, StartWholeOrNotAtAll) {
  constexpr int kRounds = 40;
  std::chrono::microseconds whole{};
  for (int round = 0; round < kRounds; ++round) {
    std::array<int, 2> started{};
    ASSERT_EQ(::pipe2(started.data(), O_CLOEXEC), 0);
    const auto began = std::chrono::steady_clock::now();
    const Launch launch = bench_.shell(fmt::format("c{}", round), "sleep 1000", "1");
    const pid_t agent = ::fork();
    if (agent == 0) {
      boost::asio::io_context loop;
      ProcessRuntime runtime(loop, {.workspace = {.context = {.root = bench_.root()}}},
                             find_confinement({.name = bench_.name()}), bench_);
      runtime.launch(launch, [&](const Result<Started>& done) {
        static_cast<void>(::write(started[1], done ? "y" : "n", 1));
      });
      loop.run();
      ::pause();
    }
    if (round == 0) {
      char answer = 0;
      ASSERT_EQ(::read(started[0], &answer, 1), 1);
      ASSERT_EQ(answer, 'y');
      whole = std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - began);
    } else {
      ::usleep(static_cast<useconds_t>(whole.count() * round / kRounds));
    }
    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);
    for (const int fd : started) ::close(fd);
    const auto seen = bench_.look(launch.container);
    const std::string own = bench_.cgroup_of("cpuset", launch.container);
    EXPECT_TRUE(seen || round > 0);
    if (seen) {
      EXPECT_TRUE(seen->running) << round;
      EXPECT_EQ(seen->cpus.str(), "1") << round;
      const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
      ASSERT_TRUE(main) << round;
      EXPECT_EQ(allowed_cpus(main->process.pid), "1") << round;
      ASSERT_TRUE(bench_.kill(launch.container));
      ASSERT_TRUE(bench_.wait_for_exit()) << round;
      EXPECT_TRUE(bench_.remove(launch.container));
    }
    EXPECT_NE(::access(own.c_str(), F_OK), 0) << round;
  }
}

TEST_F(ProcessContainers, EndWithAMonitorThatIsKilled) {
  const Launch launch =
      bench_.shell("main", "setsid sleep 1000 & echo child $!; echo main $$; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const pid_t main = pid_after(launch, "main ");
  ASSERT_TRUE(*send_signal(supervisor_of(launch), SIGKILL));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.cause, ExitCause::kUnknown);
  EXPECT_TRUE(is_gone(child));
  EXPECT_TRUE(is_gone(main));
  EXPECT_TRUE(bench_.remove(launch.container));
}

TEST_F(ProcessContainers, EndWithAMonitorThatIsKilledWhileThereIsNoAgent) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const ProcessId supervisor = supervisor_of(launch);
  bench_.restart();
  ASSERT_TRUE(*send_signal(supervisor, SIGKILL));
  ASSERT_TRUE(bench_.eventually([&] { return !is_running(supervisor); }));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->running);
  ASSERT_TRUE(seen->exit);
  EXPECT_EQ(seen->exit->cause, ExitCause::kUnknown);
  EXPECT_TRUE(is_gone(child));
}

TEST_F(ProcessContainers, AreKeptByAMonitorWithNothingOfTheAgents) {
  const Launch launch = bench_.shell("main", "ls /proc/self/fd | xargs; sleep 1000", "1");
  std::array<int, 2> leak{};
  ASSERT_EQ(::pipe(leak.data()), 0);  // on purpose not close-on-exec
  ASSERT_TRUE(bench_.start(launch));
  const ProcessId supervisor = supervisor_of(launch);
  for (const int fd : {leak[0], leak[1]}) {
    const std::string path = fmt::format("/proc/{}/fd/", supervisor.pid);
    const auto names = entries_of(path);
    ASSERT_TRUE(names);
    const std::string ours = link_of(fmt::format("/proc/self/fd/{}", fd));
    for (const std::string& name : *names) EXPECT_NE(link_of(path + name), ours);
    ::close(fd);
  }
  EXPECT_EQ(::getsid(supervisor.pid), supervisor.pid);
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

TEST_F(ProcessContainers, EndThoughSomebodyElseWritesToTheirOutputForEver) {
  const Launch launch = bench_.shell("main", "echo main $$; exec sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  const std::string output = fmt::format("/proc/{}/fd/1", pid_after(launch, "main "));
  const pid_t writer = ::fork();
  if (writer == 0) {
    std::ofstream out(output);
    while (out) out << "more and more\n";
    ::_exit(0);
  }
  EXPECT_TRUE(writes(launch, "more and more"));
  EXPECT_TRUE(bench_.kill(launch.container));
  EXPECT_TRUE(bench_.wait_for_exit());
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
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

TEST_F(ProcessContainers, RunInTheGroupOfTheirUserAndInRootsWhenNobodyKnowsTheUser) {
  const auto group_of = [&](const std::string& container, uid_t user) {
    Launch launch = bench_.shell(container, "id -g", "1");
    launch.user = user;
    if (!bench_.start(launch) || !bench_.wait_for_exit()) return std::string("none");
    return bench_.log_of(launch);
  };
  const passwd* nobody = ::getpwuid(65534);
  ASSERT_NE(nobody, nullptr);
  EXPECT_EQ(group_of("known", 65534), fmt::format("{}\n", nobody->pw_gid));
  ASSERT_EQ(::getpwuid(54321), nullptr);
  EXPECT_EQ(group_of("unknown", 54321), "0\n");
}

TEST_F(ProcessContainers, DieWithTheirMonitorAsAnotherUserToo) {
  Launch launch = bench_.shell("main", "echo main $$; exec sleep 1000", "1");
  launch.user = 65534;
  ASSERT_TRUE(bench_.start(launch));
  const pid_t main = pid_after(launch, "main ");
  bench_.restart();  // nobody but the kernel is left to do it
  const ProcessId supervisor = supervisor_of(launch);
  ASSERT_TRUE(*send_signal(supervisor, SIGKILL));
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

}  // namespace
}  // namespace corehold
