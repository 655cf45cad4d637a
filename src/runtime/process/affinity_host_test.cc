// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel without cgroups.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/process/held_child.h"

namespace corehold {
namespace {

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
  EXPECT_EQ(bench_.runtime().capabilities().confined_by, ConfinedBy::kAffinity);
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
  ASSERT_TRUE(bench_.kill(launch.container));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.signal, SIGKILL);
  EXPECT_TRUE(has_ended(headless));
}

TEST_F(AffinityContainers, EndWithAMonitorThatIsKilled) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  ASSERT_TRUE(*send_signal(supervisor_of(launch), SIGKILL));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.cause, ExitCause::kUnknown);
  EXPECT_TRUE(is_gone(child));
}

TEST_F(AffinityContainers, OfAClientAreFoundByTheNextAgentWhenTheClientHasGone) {
  std::array<int, 2> gate{};
  std::array<int, 2> born{};
  ASSERT_EQ(::pipe2(gate.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe(born.data()), 0);
  const pid_t client = ::fork();
  if (client == 0) {
    const std::string script =
        fmt::format("setsid sleep 1000 & echo $! > /proc/self/fd/{}; wait", born[1]);
    auto held = HeldChild::fork({"sh", "-c", script});
    if (!held) ::_exit(1);
    ::dprintf(born[1], "%d\n", held->pid());
    char go = 0;
    static_cast<void>(::read(gate[0], &go, 1));
    static_cast<void>(held->run());
    ::_exit(0);
  }
  const auto next_number = [&] {
    std::string text;
    for (char one = 0; ::read(born[0], &one, 1) == 1 && one != '\n';) text += one;
    return std::atoi(text.c_str());
  };
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = next_number();
  launch.attached_to = client;
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_EQ(::write(gate[1], "g", 1), 1);
  const pid_t daemon = next_number();
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(allowed_cpus(daemon), "1");
  bench_.restart();  // nobody sees the client go
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  EXPECT_FALSE(has_ended(daemon));
  EXPECT_FALSE(bench_.look(launch.container)->running);
  EXPECT_TRUE(is_gone(daemon));
  for (const int end : {gate[0], gate[1], born[0], born[1]}) ::close(end);
}

}  // namespace
}  // namespace corehold
