// SPDX-License-Identifier: Apache-2.0
//
// The fence on a machine without a kernel, by the Isolator itself: groups, units, tasks in the root
// cgroup, the cpuset of cgroup v1, pins. The agent is killed before and after every single write,
// and another one comes; after a release the machine has what it had, or what somebody else has
// given it since.
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/isolator.h"
#include "kernel/testing.h"
#include "sys/file/kernel_file.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::IsEmpty;
using Kind = Target::Kind;

struct Killed {};

constexpr int kNever = 1'000'000;
const std::string kOurs = "/sim/corehold-system";

enum class Kernel {
  kForgetful,  // up to 6.1: a change of a cpuset makes it forget the affinities of tasks
  kMindful,
};

struct Thread {
  pid_t pid = 0;
  pid_t parent = 1;
  std::uint64_t start = 0;
  CpuSet mask{};  // that it has chosen, or was given
  std::string cgroup{};

  bool operator==(const Thread&) const = default;
};

class Machine final : public Units {
 public:
  Machine(FenceView::Way way, Kernel kernel) : way_(way), kernel_(kernel) {}

  // --- what is there
  void begin() override {}
  Result<CpuSet> allowed_cpus(const std::string& unit) override {
    const auto found = groups.find(unit);
    if (found == groups.end()) return gone(unit);
    return cpus(found->second);
  }
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& set) override {
    if (!groups.contains(unit)) return gone(unit);
    effect([&] { set_group(unit, set.str()); });
    return {};
  }

  CpuSet allowed(const std::string& cgroup) const {
    if (cgroup == "/") return online;
    if (cgroup == "/corehold-system") return cpus(*cpuset);
    const CpuSet set = cpus(groups.at(cgroup.substr(1)));
    return set.empty() ? online : set;
  }
  CpuSet shown(const Thread& thread) const {
    const CpuSet both = thread.mask & allowed(thread.cgroup);
    return both.empty() ? allowed(thread.cgroup) : both;
  }

  // --- what others do
  pid_t start(pid_t parent) {
    const Thread& by = threads.at(parent);
    const pid_t tid = next_tid++;
    threads[tid] = {tid, by.pid, ++clock, by.mask, by.cgroup};
    ancestors[tid] = parent;
    return tid;
  }
  void set_group(const std::string& name, const std::string& value) {
    groups[name] = value;
    forget("/" + name);
  }

  // --- what the Isolator sees and does
  FenceAccess access() {
    FenceAccess all;
    all.read = [this](const CpuSet&) { return read(); };
    all.set_affinity = [this](pid_t tid, std::uint64_t start, const CpuSet& set) -> Result<void> {
      const auto found = threads.find(tid);
      if (found == threads.end() || found->second.start != start) return gone("task");
      if (!set.intersects(allowed(found->second.cgroup))) return Error{Code::kIo, "no", EINVAL};
      effect([&] { give(found->second, set); });
      return {};
    };
    all.targets[Kind::kFile] = {.read = [this](const Target& target) -> Result<std::string> {
                                  const auto found = groups.find(name_in(target.name));
                                  if (found == groups.end()) return gone(target.name);
                                  return found->second;
                                },
                                .write = [this](const Change& change) -> Result<void> {
                                  const std::string name = name_in(change.target.name);
                                  if (!groups.contains(name)) return gone(name);
                                  if (change.value.empty())
                                    effect([&] { set_group(name, online.str()); });
                                  effect([&] { set_group(name, change.value); });
                                  return {};
                                }};
    all.targets[Kind::kTask] = {.read = [this](const Target& target) -> Result<std::string> {
                                  const Thread* thread = find(target.name);
                                  if (thread == nullptr) return gone(target.name);
                                  return shown(*thread).str();
                                },
                                .write = [this](const Change& change) -> Result<void> {
                                  Thread* thread = find(change.target.name);
                                  if (thread == nullptr || thread->cgroup != "/")
                                    return gone(change.target.name);
                                  effect([&] { give(*thread, cpus(change.value)); });
                                  return {};
                                }};
    all.targets[Kind::kCpuset] = {
        .read = [this](const Target&) -> Result<std::string> { return cpuset.value_or(""); },
        .write = [this](const Change& change) -> Result<void> {
          write_cpuset(change.value);
          return {};
        }};
    all.targets[Kind::kMember] = {
        .read = [this](const Target& target) -> Result<std::string> {
          const Thread* thread = find(target.name);
          if (thread == nullptr) return gone(target.name);
          return thread->cgroup;
        },
        .write = [this](const Change& change) -> Result<void> {
          Thread* thread = find(change.target.name);
          if (thread == nullptr || thread->cgroup != change.before) return gone("task");
          const bool is_whole = change.value.ends_with("/cgroup.procs");
          effect([&] {
            for (auto& [tid, each] : threads) {
              if (&each == thread || (is_whole && each.pid == thread->pid)) {
                move(each, "/corehold-system");
              }
            }
          });
          return {};
        }};
    return all;
  }

  const CpuSet online = cpus("0-7");
  std::map<std::string, std::string> groups{};  // those that end in .slice are units
  std::optional<std::string> cpuset{};          // of cgroup v1
  std::map<pid_t, Thread> threads{};
  std::map<pid_t, pid_t> ancestors{};  // who started whom
  std::uint64_t clock = 100;
  pid_t next_tid = 1000;
  int left = kNever;                                        // moments until the agent is killed
  std::function<void(Machine&)> between = [](Machine&) {};  // after each look at the machine

 private:
  static Error gone(const std::string& what) {
    return {Code::kNotFound, what + " is gone", ENOENT};
  }
  static std::string name_in(const std::string& path) {
    return path.substr(5, path.rfind('/') - 5);  // "/sim/NAME/cpuset.cpus"
  }

  void effect(const std::function<void()>& write) {
    if (left-- == 0) throw Killed{};
    write();
    if (left-- == 0) throw Killed{};
  }

  Thread* find(const std::string& name) {
    const auto found = threads.find(std::stoi(name));
    if (found == threads.end()) return nullptr;
    return name == fmt::format("{} {}", found->first, found->second.start) ? &found->second
                                                                           : nullptr;
  }

  void give(Thread& thread, const CpuSet& set) {
    thread.mask = kernel_ == Kernel::kForgetful ? set & allowed(thread.cgroup) : set;
  }
  void forget(const std::string& cgroup) {
    if (kernel_ == Kernel::kMindful) return;
    for (auto& [tid, thread] : threads) {
      if (thread.cgroup == cgroup) thread.mask = online;
    }
  }
  static void move(Thread& thread, const std::string& cgroup) {
    thread.cgroup = cgroup;
    thread.mask = cpus("0-7");
  }

  void write_cpuset(const std::string& value) {
    effect([&] {
      cpuset = value.empty() ? online.str() : value;
      forget("/corehold-system");
    });
    if (!value.empty()) return;
    for (auto& each : threads) {
      auto& thread = each.second;
      if (thread.cgroup == "/corehold-system") effect([&] { move(thread, "/"); });
    }
    effect([&] { cpuset.reset(); });
  }

  Result<FenceReading> read() {
    FenceReading reading;
    FenceView& view = reading.view;
    view.way = way_;
    for (const auto& [name, value] : groups) {
      const bool is_unit = name.ends_with(".slice");
      view.groups.push_back({.target = {is_unit ? Kind::kUnit : Kind::kFile,
                                        is_unit ? name : fmt::format("/sim/{}/cpuset.cpus", name)},
                             .cgroup = "/" + name,
                             .value = value});
    }
    view.cpuset = kOurs;
    view.cpuset_value = cpuset.value_or("");
    for (const auto& [tid, thread] : threads) {
      const Task task{.pid = thread.pid,
                      .tid = tid,
                      .name = "task",
                      .start = thread.start,
                      .affinity = shown(thread),
                      .parent = thread.parent,
                      .cgroup = thread.cgroup};
      if (thread.cgroup == "/") view.tasks.push_back(task);
      if (thread.cgroup != "/" || way_ == FenceView::Way::kCpuset) {
        reading.confined.push_back({.task = task, .allowed = allowed(thread.cgroup)});
      }
    }
    between(*this);
    return reading;
  }

  FenceView::Way way_;
  Kernel kernel_;
};

Machine some_machine(FenceView::Way way, Kernel kernel) {
  Machine machine(way, kernel);
  if (way == FenceView::Way::kGroups) {
    machine.groups = {{"jobs", ""},
                      {"limited", "0-3"},
                      {"system.slice", ""},
                      {"db.slice", "2-5"},
                      {"idle.slice", ""}};
  }
  const bool has_groups = way == FenceView::Way::kGroups;
  const std::string jobs = has_groups ? "/jobs" : "/";
  const std::string services = has_groups ? "/system.slice" : "/";
  machine.threads = {
      {10, {10, 1, 1, cpus("0-7"), "/"}},      {11, {11, 1, 2, cpus("3"), "/"}},
      {12, {12, 1, 3, cpus("3-4"), "/"}},      {20, {20, 1, 4, cpus("0-7"), jobs}},
      {21, {21, 1, 5, cpus("3-4"), jobs}},     {22, {22, 1, 6, cpus("1"), jobs}},
      {30, {30, 1, 7, cpus("2-3"), services}}, {31, {31, 1, 8, cpus("0-7"), services}},
      {32, {31, 1, 9, cpus("4-6"), services}}};
  return machine;
}

class History {
 public:
  History(FenceView::Way way, Kernel kernel, int kill_at)
      : machine(some_machine(way, kernel)), way_(way) {
    machine.left = kill_at;
    files_.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    start_agent();
    for (const auto& [tid, thread] : machine.threads) had_[tid] = thread.mask;
    groups_had_ = machine.groups;
  }

  void start_agent() {
    agent_.emplace(IsolatorOptions{.journal = files_.root() + "/isolation.json",
                                   .places = {.mount = files_.root() + "/cgroup",
                                              .own = "/corehold",
                                              .proc = files_.root() + "/proc"},
                                   .access = machine.access()},
                   machine);
  }

  // Throws Killed.
  IsolationReport hold(std::string_view held) {
    const auto report = agent_->apply(
        {.level = IsolationLevel::kFence, .online = machine.online, .held = cpus(held)});
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : IsolationReport{};
  }

  void expect_kept_off(std::string_view held) const {
    for (const auto& [tid, thread] : machine.threads) {
      EXPECT_FALSE(machine.shown(thread).intersects(cpus(held))) << tid;
    }
  }

  // What the machine had, and nothing of ours.
  void expect_as_before(const std::map<std::string, std::string>& by_others = {}) {
    auto groups = groups_had_;
    for (const auto& [name, value] : by_others) groups[name] = value;
    EXPECT_EQ(machine.groups, groups);
    EXPECT_EQ(machine.cpuset, std::nullopt);
    for (const auto& [tid, thread] : machine.threads) {
      const CpuSet own = had(tid) & machine.allowed(thread.cgroup);
      EXPECT_EQ(machine.shown(thread).str(),
                (own.empty() ? machine.allowed(thread.cgroup) : own).str())
          << tid;
      if (way_ == FenceView::Way::kCpuset) {
        EXPECT_EQ(thread.cgroup, "/") << tid;
      }
    }
    const auto journal = read_journal(files_.root() + "/isolation.json", files_.root() + "/proc");
    ASSERT_TRUE(journal);
    EXPECT_THAT(journal->entries, IsEmpty());
    EXPECT_THAT(journal->pins, IsEmpty());
  }

  Machine machine;

 private:
  // Without us everybody has what whoever started it had.
  CpuSet had(pid_t tid) const {
    const auto found = had_.find(tid);
    return found != had_.end() ? found->second : had(machine.ancestors.at(tid));
  }

  FenceView::Way way_;
  MadeFiles files_{};
  std::optional<Isolator> agent_{};
  std::map<pid_t, CpuSet> had_{};
  std::map<std::string, std::string> groups_had_{};
};

using Step = std::function<void(History&)>;

// Grants and returns, and processes that are started meanwhile.
std::vector<Step> some_history() {
  return {[](History& history) { history.hold("2-3"); },
          [](History& history) {
            for (const pid_t tid : {10, 11, 12, 20, 21}) history.machine.start(tid);
          },
          [](History& history) { history.hold("2-5"); },
          [](History& history) {
            for (const pid_t tid : {10, 12, 30}) history.machine.start(tid);
          },
          [](History& history) { history.hold("3,6"); }};
}

// Runs the history up to the moment at which the agent is killed; the step it was killed in, none
// when it lived to the end.
std::optional<std::size_t> live(History& history, const std::vector<Step>& steps,
                                std::size_t first = 0) {
  for (std::size_t step = first; step < steps.size(); ++step) {
    try {
      steps[step](history);
    } catch (const Killed&) {
      return step;
    }
  }
  return std::nullopt;
}

struct Setting {
  FenceView::Way way;
  Kernel kernel;
};

class FenceHistory : public testing::TestWithParam<Setting> {
 protected:
  History history(int kill_at = kNever) const {
    return {GetParam().way, GetParam().kernel, kill_at};
  }
};

TEST_P(FenceHistory, KeepsEverybodyOffHeldCpusAndEndsAsItBegan) {
  History history = this->history();
  for (const char* held : {"2-3", "2-5", "5", "1-6", "0,7"}) {
    history.hold(held);
    // db.slice is allowed 2-5 alone and has no tasks.
    history.expect_kept_off(held);
    history.machine.start(10);
  }
  history.hold("");
  history.expect_as_before();
}

TEST_P(FenceHistory, EndsAsItBeganWhereverTheAgentIsKilled) {
  for (int kill_at = 0;; ++kill_at) {
    SCOPED_TRACE(kill_at);
    History history = this->history(kill_at);
    std::vector<Step> steps = some_history();
    steps.emplace_back([](History& each) { each.hold(""); });
    const auto killed = live(history, steps);
    history.machine.left = kNever;
    history.start_agent();
    history.hold("");
    history.expect_as_before();
    if (!killed || HasFailure()) break;
  }
}

TEST_P(FenceHistory, GoesOnWhereverTheAgentWasKilled) {
  for (int kill_at = 0;; ++kill_at) {
    SCOPED_TRACE(kill_at);
    History history = this->history(kill_at);
    const std::vector<Step> steps = some_history();
    const auto killed = live(history, steps);
    history.machine.left = kNever;
    history.start_agent();
    if (killed) live(history, steps, *killed);
    history.expect_kept_off("3,6");
    history.hold("");
    history.expect_as_before();
    if (!killed || HasFailure()) break;
  }
}

TEST_P(FenceHistory, LeavesAloneWhatSomebodyElseHasSetAfterTheAgentWasKilled) {
  if (GetParam().way == FenceView::Way::kCpuset) GTEST_SKIP() << "there are no groups of others";
  for (int kill_at = 0;; ++kill_at) {
    SCOPED_TRACE(kill_at);
    History history = this->history(kill_at);
    const auto killed = live(history, some_history());
    history.machine.left = kNever;
    history.machine.set_group("limited", "1");
    history.machine.set_group("idle.slice", "1,7");
    history.start_agent();
    history.hold("");
    history.expect_as_before({{"limited", "1"}, {"idle.slice", "1,7"}});
    if (!killed || HasFailure()) break;
  }
}

// One of them starts another whenever it can.
TEST_P(FenceHistory, SettlesWhileTasksGoOnStartingOthers) {
  History history = this->history();
  history.hold("2-3");
  history.machine.between = [](Machine& machine) { machine.start(10); };
  const IsolationReport report = history.hold("2-4");
  EXPECT_THAT(report.leftovers, IsEmpty());
  history.expect_kept_off("2-4");
  EXPECT_THAT(history.hold("2-4").leftovers, IsEmpty());
  history.hold("");
  history.machine.between = [](Machine&) {};
  history.expect_as_before();
}

TEST_P(FenceHistory, GivesBackWhatTasksHadThatWereMovedOutOfTheRootCgroup) {
  if (GetParam().way == FenceView::Way::kCpuset) GTEST_SKIP() << "there are no groups of others";
  if (GetParam().kernel == Kernel::kForgetful) GTEST_SKIP() << "a move ends every affinity";
  for (const bool is_seen : {false, true}) {
    History history = this->history();
    history.hold("2-3");
    for (const pid_t tid : {10, 11, 12}) history.machine.threads.at(tid).cgroup = "/jobs";
    if (is_seen) history.hold("2-3");
    history.hold("");
    history.expect_as_before();
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, FenceHistory,
                         testing::Values(Setting{FenceView::Way::kGroups, Kernel::kForgetful},
                                         Setting{FenceView::Way::kGroups, Kernel::kMindful},
                                         Setting{FenceView::Way::kCpuset, Kernel::kForgetful}));

}  // namespace
}  // namespace corehold
