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
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/process/container_mark.h"
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

// A command of `corehold run` and its client. The command leaves a process behind which goes on
// without it.
class RunCommand {
 public:
  // `user` 0: that of this process.
  explicit RunCommand(uid_t user) {
    EXPECT_EQ(::pipe2(gate_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(born_.data(), O_CLOEXEC), 0);
    client_ = ::fork();
    if (client_ == 0) {
      if (user != 0 && ::setuid(user) != 0) ::_exit(1);
      ::dup2(born_[1], STDOUT_FILENO);
      ::close(gate_[1]);
      auto held = HeldChild::fork({"sh", "-c", "setsid sleep 1000 > /dev/null & echo $!; wait"});
      if (!held) ::_exit(1);
      ::dprintf(STDOUT_FILENO, "%d\n", held->pid());
      char go = 0;
      static_cast<void>(::read(gate_[0], &go, 1));
      static_cast<void>(held->run());
      ::_exit(0);
    }
    ::close(std::exchange(born_[1], -1));  // its end is seen then
    pid_ = next_number();
  }
  RunCommand(const RunCommand&) = delete;
  RunCommand& operator=(const RunCommand&) = delete;
  ~RunCommand() {
    for (const pid_t pid : {pid_, daemon_}) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    end_client();
    for (const int end : {gate_[0], gate_[1], born_[0], born_[1]}) ::close(end);
  }
  pid_t pid() const { return pid_; }
  pid_t client() const { return client_; }
  // The process that it leaves behind, once it goes.
  pid_t go() {
    EXPECT_EQ(::write(gate_[1], "g", 1), 1);
    daemon_ = next_number();
    return daemon_;
  }
  void end_client() {
    if (client_ <= 0) return;
    ::kill(client_, SIGKILL);
    ::waitpid(client_, nullptr, 0);
    client_ = 0;
  }

 private:
  pid_t next_number() const {
    std::string text;
    for (char one = 0; ::read(born_[0], &one, 1) == 1 && one != '\n';) text += one;
    const int number = std::atoi(text.c_str());
    EXPECT_GT(number, 0);
    return number;
  }

  std::array<int, 2> gate_{};
  std::array<int, 2> born_{};
  pid_t client_ = 0;
  pid_t pid_ = 0;
  pid_t daemon_ = 0;
};

struct CommandCase {
  const char* name;
  uid_t user;
  bool has_client;
};

class LostCommands : public ProcessContainers, public testing::WithParamInterface<CommandCase> {
 protected:
  LostCommands() : ProcessContainers(RuntimeBench::Kind::kAffinity) {}
};

INSTANTIATE_TEST_SUITE_P(Of, LostCommands,
                         testing::Values(CommandCase{"AnotherUser", 65534, true},
                                         CommandCase{"AnotherUserWithoutClient", 65534, false},
                                         CommandCase{"TheAgentsUserWithoutClient", 0, false}),
                         [](const auto& each) { return each.param.name; });

TEST_P(LostCommands, AreRefusedByName) {
  if (GetParam().user != 0 && ::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  RunCommand command(GetParam().user);
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = command.pid();
  launch.attached_to = command.client();
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  const pid_t daemon = command.go();
  ASSERT_TRUE(bench_.eventually([&] { return mark_of(daemon).has_value(); }));
  std::filesystem::remove_all(bench_.root() + "/containers");
  bench_.set_list_timeout(std::chrono::milliseconds{200});
  bench_.restart();
  if (!GetParam().has_client) command.end_client();  // and the command with it
  const auto seen = bench_.list();
  ASSERT_FALSE(seen);
  EXPECT_NE(seen.error().message.find(fmt::format("{}; CPUs 1;", daemon)), std::string::npos)
      << seen.error().message;
  EXPECT_FALSE(has_ended(daemon));
  ::kill(daemon, SIGKILL);
  ::kill(command.pid(), SIGKILL);
  command.end_client();
  EXPECT_TRUE(bench_.eventually([&] { return bench_.list().has_value(); }));
  EXPECT_TRUE(std::filesystem::is_empty(bench_.root() + "/run/commands"));
}

// Nothing but the agent's own note tells the command of another user from this.
TEST_F(AffinityContainers, CannotBePretendedByOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  RunCommand stranger(65534);
  const pid_t daemon = stranger.go();
  ASSERT_TRUE(bench_.eventually([&] { return mark_of(daemon).has_value(); }));
  const auto seen = bench_.list();
  EXPECT_TRUE(seen) << seen.error().message;
}

TEST_F(AffinityContainers, OfCommandsLeaveNoNoteWhenTheyEnd) {
  RunCommand command(0);
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = command.pid();
  launch.attached_to = command.client();
  ASSERT_TRUE(bench_.start(launch));
  command.go();
  EXPECT_FALSE(std::filesystem::is_empty(bench_.root() + "/run/commands"));
  ASSERT_TRUE(bench_.kill(launch.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_TRUE(bench_.eventually(
      [&] { return std::filesystem::is_empty(bench_.root() + "/run/commands"); }));
}

}  // namespace
}  // namespace corehold
