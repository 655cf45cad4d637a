// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel that a runtime has no records of: of another root, or of its own
// whose records are lost or older.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Nothing here starts or ends by itself while it is listed.
constexpr std::chrono::milliseconds kSoon{200};

class UnknownContainersOnHost : public ProcessContainers,
                                public testing::WithParamInterface<RuntimeBench::Kind> {
 protected:
  UnknownContainersOnHost() : ProcessContainers(GetParam()) { bench_.set_list_timeout(kSoon); }
  ~UnknownContainersOnHost() override {
    for (const pid_t pid : started_) ::kill(pid, SIGKILL);
    for (const pid_t pid : started_) is_gone(pid);
  }

  bool has_cgroups() const { return GetParam() == RuntimeBench::Kind::kCgroup; }

  // Its main process; 0: it was refused.
  pid_t run(const std::string& name, const std::string& cpus) {
    launch_ = bench_.shell(name, "echo main $$; exec sleep 1000", cpus);
    const auto begun = bench_.start(launch_);
    EXPECT_TRUE(begun) << begun.error().message;
    const pid_t main = pid_after(launch_, "main ");
    started_.push_back(main);
    return main;
  }
  std::string directory() const {
    return ContainerDirectory::of(bench_.root(), launch_.container).path();
  }
  std::string refusal() {
    const auto seen = bench_.list();
    return seen ? "" : seen.error().message;
  }
  // Once the container has been ended by hand nothing stands in the way.
  void expect_free_after(pid_t main) {
    ::kill(main, SIGKILL);
    ASSERT_TRUE(is_gone(main));
    EXPECT_TRUE(bench_.eventually([&] {
      const auto seen = bench_.list();
      return seen && std::none_of(seen->begin(), seen->end(),
                                  [](const SeenContainer& each) { return each.running; });
    })) << refusal();
  }

  Launch launch_;
  std::vector<pid_t> started_;
};

INSTANTIATE_TEST_SUITE_P(With, UnknownContainersOnHost,
                         testing::Values(RuntimeBench::Kind::kCgroup,
                                         RuntimeBench::Kind::kAffinity),
                         [](const auto& kind) {
                           return kind.param == RuntimeBench::Kind::kCgroup ? "Cgroups"
                                                                            : "Affinity";
                         });

TEST_P(UnknownContainersOnHost, OfAnotherRootAreRefusedWithThatRoot) {
  const pid_t main = run("main", "1");
  RuntimeBench other(GetParam());
  other.set_list_timeout(kSoon);
  other.restart();
  const auto seen = other.list();
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Code::kConflict);
  EXPECT_THAT(seen.error().message,
              AllOf(HasSubstr(fmt::format("process {}; CPUs 1;", main)),
                    HasSubstr(fmt::format("start the agent with --root {}", bench_.root())),
                    HasSubstr(fmt::format("kill -KILL {}", main))));
  if (has_cgroups()) {
    EXPECT_THAT(seen.error().message, HasSubstr(bench_.cgroup_of("cpuset", launch_.container)));
  }
  ASSERT_TRUE(bench_.kill(launch_.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_TRUE(other.eventually([&] { return other.list().has_value(); }));
}

TEST_P(UnknownContainersOnHost, OfAnotherRootAreRefusedWhateverTheirCgroup) {
  const pid_t main = run("main", "1");
  RuntimeBench other(has_cgroups() ? RuntimeBench::Kind::kAffinity : RuntimeBench::Kind::kCgroup);
  other.set_list_timeout(kSoon);
  other.restart();
  const auto seen = other.list();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message,
              AllOf(HasSubstr(fmt::format("process {}; CPUs 1;", main)), HasSubstr(bench_.root())));
}

TEST_P(UnknownContainersOnHost, HaveLostTheirDirectory) {
  const pid_t main = run("main", "1");
  fs::remove_all(bench_.root() + "/containers");
  bench_.restart();
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr(fmt::format("process {}; CPUs 1;", main)),
                    HasSubstr(fmt::format("without its records in {}/containers", bench_.root()))));
  EXPECT_FALSE(has_ended(main));
  expect_free_after(main);
  if (has_cgroups()) {
    EXPECT_FALSE(fs::exists(bench_.cgroup_of("cpuset", launch_.container)));
  }
}

TEST_P(UnknownContainersOnHost, HaveLostFilesAndAreNotKilled) {
  for (const std::string file : {"launch.json", "keeper.json"}) {
    const pid_t main = run("main-" + file.substr(0, file.find('.')), "1");
    fs::remove(directory() + "/" + file);
    bench_.restart();
    EXPECT_THAT(refusal(), HasSubstr(fmt::format("process {};", main))) << file;
    EXPECT_FALSE(has_ended(main)) << file;
    expect_free_after(main);
    static_cast<void>(bench_.remove(launch_.container));
  }
}

TEST_P(UnknownContainersOnHost, AreKnownWithoutTheRecordOfTheirMainProcess) {
  run("main", "1");
  fs::remove(directory() + "/main.json");
  bench_.restart();
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(bench_.look(launch_.container)->running);
}

TEST_P(UnknownContainersOnHost, HaveRecordsOfAnEarlierAttemptAndAreNotKilled) {
  const pid_t first = run("main", "1");
  const std::string backup = bench_.root() + "/backup";
  fs::copy(directory(), backup, fs::copy_options::recursive);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(bench_.wait_for_exit());
  launch_.attempt = 1;
  launch_.log_path += ".1";
  ASSERT_TRUE(bench_.start(launch_));
  const pid_t second = pid_after(launch_, "main ");
  started_.push_back(second);
  fs::remove_all(directory());
  fs::copy(backup, directory(), fs::copy_options::recursive);
  bench_.restart();
  EXPECT_THAT(refusal(), HasSubstr(fmt::format("process {};", second)));
  EXPECT_FALSE(has_ended(second));
  expect_free_after(second);
}

// A command as `corehold run` starts it, which this process is the client of.
class HeldCommand {
 public:
  HeldCommand() {
    std::array<int, 2> gate{};
    EXPECT_EQ(::pipe2(gate.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char go = 0;
      static_cast<void>(::read(gate[0], &go, 1));
      ::execlp("sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
    ::close(gate[0]);
    gate_ = gate[1];
  }
  HeldCommand(const HeldCommand&) = delete;
  HeldCommand& operator=(const HeldCommand&) = delete;
  ~HeldCommand() {
    ::close(gate_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void go() const { EXPECT_EQ(::write(gate_, "g", 1), 1); }
  void end() const {
    ::kill(pid_, SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT);
  }

 private:
  pid_t pid_ = 0;
  int gate_ = -1;
};

class CgroupsOnHost : public ProcessContainers {
 protected:
  void SetUp() override {
    if (bench_.runtime().capabilities().confined_by == ConfinedBy::kAffinity) {
      GTEST_SKIP() << "needs cgroups with cpusets";
    }
  }
  // The cgroup of a container that nobody has started.
  std::string make_cgroup(const std::string& cpus) {
    const ContainerRef container{.pod = "nobodys", .container = "main"};
    const auto confinement = find_confinement({.name = bench_.name()});
    const ContainerProcesses processes{
        .ref = container, .cgroup = bench_.is_v2() ? "pods/nobodys/main" : "nobodys/main"};
    const auto made = confinement->confine(processes, {.cpus = *CpuSet::parse(cpus)});
    EXPECT_TRUE(made) << made.error().message;
    return bench_.cgroup_of("cpuset", container);
  }
  static void join(const std::string& cgroup, pid_t pid) {
    EXPECT_TRUE(write_kernel_file(cgroup + "/cgroup.procs", fmt::to_string(pid)));
  }
};

TEST_F(CgroupsOnHost, AreRefusedWithACommandWhoseRecordsAreLost) {
  const HeldCommand command;
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = command.pid();
  launch.attached_to = ::getpid();
  ASSERT_TRUE(bench_.start(launch));
  command.go();
  fs::remove_all(bench_.root() + "/containers");
  bench_.set_list_timeout(kSoon);
  bench_.restart();
  const auto seen = bench_.list();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message, HasSubstr(fmt::format("process {}; CPUs 1;", command.pid())));
  command.end();
  EXPECT_TRUE(bench_.eventually([&] { return bench_.list().has_value(); }));
}

TEST_F(CgroupsOnHost, AreRemovedQuietlyWhenTheyAreEmpty) {
  const std::string cgroup = make_cgroup("1");
  ASSERT_TRUE(fs::exists(cgroup));
  EXPECT_TRUE(bench_.list());
  EXPECT_FALSE(fs::exists(cgroup));
  EXPECT_THAT(bench_.troubles(), testing::IsEmpty());
}

TEST_F(CgroupsOnHost, ThatTurnUpLaterKeepTheirCpusFromOthers) {
  ASSERT_TRUE(bench_.list());
  const HeldCommand command;
  command.go();
  join(make_cgroup("1"), command.pid());
  EXPECT_TRUE(bench_.list());
  EXPECT_TRUE(bench_.list());
  ASSERT_EQ(bench_.troubles().size(), 1U);
  EXPECT_THAT(bench_.troubles()[0], AllOf(HasSubstr("nobodys/main (process"), HasSubstr("CPUs 1")));
  const Launch refused = bench_.shell("refused", "sleep 1000", "1");
  const auto begun = bench_.start(refused);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message,
              HasSubstr(fmt::format("CPUs 1 are in use by cgroup {}",
                                    bench_.cgroup_of("cpuset", {"nobodys", "main"}))));
  const Launch elsewhere = bench_.shell("elsewhere", "sleep 1000", "0");
  ASSERT_TRUE(bench_.start(elsewhere));
  EXPECT_FALSE(bench_.update(elsewhere.container, "0-1"));
  EXPECT_TRUE(bench_.update(elsewhere.container, "0"));
  command.end();
  const auto again = bench_.start(refused);
  EXPECT_TRUE(again) << again.error().message;
}

// A command that another user has run, in the cgroup of an agent with another base.
TEST_F(CgroupsOnHost, OfAnotherBaseAreRefusedWithTheProcessesOfAnyUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const ContainerProcesses processes{
      .ref = {.pod = "nobodys", .container = "main"},
      .cgroup = bench_.is_v2() ? "pods/nobodys/main" : "nobodys/main"};
  const auto other = find_confinement({.name = "corehold"});
  ASSERT_TRUE(other->confine(processes, {.cpus = *CpuSet::parse("1")}));
  const pid_t command = ::fork();
  if (command == 0) {
    if (::setuid(65534) != 0) ::_exit(1);
    const std::string variable = fmt::format("{}=run/999999/1", kContainerVariable);
    ::execle("/bin/sleep", "sleep", "1000", nullptr,
             std::array<const char*, 2>{variable.c_str(), nullptr}.data());
    ::_exit(1);
  }
  ASSERT_TRUE(bench_.eventually([&] { return mark_of(command).has_value(); }));
  ASSERT_TRUE(other->place(processes, command));
  bench_.set_list_timeout(kSoon);
  bench_.restart();
  const auto seen = bench_.list();
  ::kill(command, SIGKILL);
  ::waitpid(command, nullptr, 0);
  EXPECT_TRUE(bench_.eventually([&] {
    const auto removed = other->remove(processes);
    return removed && *removed;
  }));
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message, AllOf(HasSubstr("/nobodys/main (process"),
                                          HasSubstr(fmt::format("{}; CPUs 1;", command))));
  EXPECT_TRUE(bench_.list());
}

// Whatever names and environments other users give their processes.
TEST_F(CgroupsOnHost, CannotBePretendedByOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const auto first = identify(1);
  ASSERT_TRUE(first);
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  std::vector<pid_t> strangers;
  for (const std::string& mark : {run_mark(*first), std::string("pod/main")}) {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      if (::setuid(65534) != 0) ::_exit(1);
      const std::string variable = fmt::format("{}={}", kContainerVariable, mark);
      const std::string script =
          "printf corehold-mon > /proc/self/comm; echo; exec 1>&-; sleep 1000 & wait";
      ::dup2(ready[1], STDOUT_FILENO);
      ::execle("/bin/sh", "sh", "-c", script.c_str(), "/x/containers/pod/main", nullptr,
               std::array<const char*, 2>{variable.c_str(), nullptr}.data());
      ::_exit(1);
    }
    strangers.push_back(stranger);
    char told = 0;
    EXPECT_EQ(::read(ready[0], &told, 1), 1);
  }
  const auto seen = bench_.list();
  EXPECT_TRUE(seen) << seen.error().message;
  for (const pid_t stranger : strangers) {
    for (const pid_t child : descendants_of(stranger)) ::kill(child, SIGKILL);
    ::kill(stranger, SIGKILL);
    ::waitpid(stranger, nullptr, 0);
  }
  for (const int end : ready) ::close(end);
}

// Agents with one root and another, directories that are lost, backups that are restored: whatever
// happens, a runtime that lists at all knows all that runs, so that nobody gets a CPU twice.
TEST_F(CgroupsOnHost, AreAllKnownToAnAgentThatStartsWhateverHappenedBefore) {
  constexpr int kRoots = 2;
  constexpr int kSteps = 60;
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 dice(seed);
  const auto below = [&](int end) { return static_cast<int>(dice() % static_cast<unsigned>(end)); };
  std::map<int, std::unique_ptr<RuntimeBench>> agents;
  for (int root = 0; root < kRoots; ++root) {
    agents[root] = std::make_unique<RuntimeBench>(RuntimeBench::Kind::kCgroup);
    agents[root]->set_list_timeout(kSoon);
  }
  struct Live {
    int root = 0;
    Launch launch{};
    pid_t main = 0;
  };
  std::vector<Live> live;
  int next = 0;
  int begun = 0;
  int refused = 0;
  const auto containers = [&](int root) { return agents[root]->root() + "/containers"; };
  const auto backup = [&](int root) { return agents[root]->root() + "/backup"; };
  for (int step = 0; step < kSteps; ++step) {
    const int root = below(kRoots);
    RuntimeBench& agent = *agents[root];
    switch (below(4)) {
      case 0:
        fs::remove_all(backup(root));
        if (fs::exists(containers(root))) {
          fs::copy(containers(root), backup(root), fs::copy_options::recursive);
        }
        continue;
      case 1:
        if (!fs::exists(backup(root))) continue;
        fs::remove_all(containers(root));
        fs::copy(backup(root), containers(root), fs::copy_options::recursive);
        continue;
      case 2:
        fs::remove_all(containers(root));
        continue;
      default:
        break;
    }
    agent.restart();
    const auto seen = agent.list();
    if (!seen) {
      ++refused;
      bool is_named = false;
      for (const Live& each : live) {
        is_named |= seen.error().message.find(fmt::to_string(each.main)) != std::string::npos;
      }
      EXPECT_TRUE(is_named) << seen.error().message;
      // As the message says.
      for (const Live& each : live) ::kill(each.main, SIGKILL);
      for (const Live& each : live) is_gone(each.main);
      live.clear();
      continue;
    }
    ++begun;
    for (const Live& each : live) {
      EXPECT_TRUE(std::any_of(seen->begin(), seen->end(), [&](const SeenContainer& known) {
        return known.container == each.launch.container && known.running &&
               known.cpus == each.launch.placement.cpus;
      })) << each.main;
    }
    // One CPU is given at a time: the runtime knows whether it is free.
    if (!live.empty()) continue;
    Live started{.root = root,
                 .launch = agent.shell(fmt::format("c{}", next++), "sleep 1000", "1")};
    ASSERT_TRUE(agent.start(started.launch));
    const auto main = ContainerDirectory::of(agent.root(), started.launch.container).read_main();
    ASSERT_TRUE(main);
    started.main = main->process.pid;
    live.push_back(started);
  }
  EXPECT_GT(begun + refused, 0);
  for (const Live& each : live) ::kill(each.main, SIGKILL);
  for (const Live& each : live) is_gone(each.main);
}

}  // namespace
}  // namespace corehold
