// SPDX-License-Identifier: Apache-2.0
//
// Histories of a machine whose interrupts and kernel are kept off held CPUs: grants, returns, other
// levels, new interrupts and threads, other writers, a restarted irqbalance. The agent is killed
// before and after every single effect of each history and started again; after a release the
// machine has what it had, or what somebody else has given it since.
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "isolation/cpu_mask.h"
#include "isolation/journal.h"
#include "isolation/knob.h"
#include "isolation/machine_plan.h"

namespace corehold {
namespace {

using Kind = Target::Kind;

constexpr int kCpus = 8;
const std::string kDefaultAffinity = "/proc/irq/default_smp_affinity";
const std::string kWorkqueue = "/sys/devices/virtual/workqueue/cpumask";
const std::string kWriteback = "/sys/devices/virtual/workqueue/writeback/cpumask";
const std::string kWatchdog = "/proc/sys/kernel/watchdog_cpumask";
const std::string kTimers = "/proc/sys/kernel/timer_migration";

std::string list_file(int number) { return fmt::format("/proc/irq/{}/smp_affinity_list", number); }
std::string latency_file(int cpu) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us", cpu);
}

CpuSet cpus_of(unsigned bits) {
  CpuSet cpus;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    if ((bits >> cpu & 1U) != 0) cpus.insert(CpuId(cpu));
  }
  return cpus;
}

// The kernel, and who else is on the machine.
struct Machine {
  std::map<Target, std::string> values{};
  std::map<int, Managed> interrupts{};
  int irqbalance = 100;  // its process
  int next_interrupt = 40;
  int next_thread = 300;

  static Target file(const std::string& path) { return {Kind::kFile, path}; }
  Target socket() const {
    return {Kind::kIrqBalance, fmt::format("/run/irqbalance/irqbalance{}.sock", irqbalance)};
  }

  Machine() {
    add_interrupt(4, Managed::kNo, "0-7");
    add_interrupt(24, Managed::kNo, "2");
    add_interrupt(25, Managed::kNo, "5-6");
    add_interrupt(30, Managed::kYes, "3");
    add_interrupt(31, Managed::kByName, "4");
    values[file(kDefaultAffinity)] = "ff";
    values[file(kWorkqueue)] = "ff";
    values[file(kWriteback)] = "3f";
    values[file(kWatchdog)] = "0-7";
    values[file(kTimers)] = "1";
    for (int cpu = 0; cpu < kCpus; ++cpu) values[file(latency_file(cpu))] = cpu == 3 ? "20" : "0";
    values[{Kind::kTask, "2 1"}] = "0-7";
    values[{Kind::kTask, "60 5"}] = "4-7";
    values[socket()] = "7";
  }

  void add_interrupt(int number, Managed managed, const std::string& cpus) {
    interrupts[number] = managed;
    values[file(list_file(number))] = cpus;
  }

  // errno; 0: the kernel has taken it.
  int write(const Target& target, const std::string& value) {
    const auto found = values.find(target);
    if (found == values.end()) return ENOENT;
    for (const auto& [number, managed] : interrupts) {
      if (managed != Managed::kNo && target == file(list_file(number))) return EIO;
    }
    found->second = value;
    return 0;
  }

  MachineView view() const {
    MachineView view{.facts = {.major = 6, .minor = 1}};
    for (const auto& [number, managed] : interrupts) {
      view.interrupts[number] = {
          .list_file = list_file(number),
          .devices = {fmt::format("device{}", number)},
          .affinity = {.allowed = *CpuSet::parse(values.at(file(list_file(number)))),
                       .managed = managed}};
    }
    const auto kernel_file = [this](const std::string& path) {
      return KernelFile{path, values.at(file(path))};
    };
    view.default_affinity = kernel_file(kDefaultAffinity);
    view.workqueues = {kernel_file(kWorkqueue), kernel_file(kWriteback)};
    view.watchdog = kernel_file(kWatchdog);
    view.timer_migration = kernel_file(kTimers);
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      view.resume_latency[CpuId(cpu)] = kernel_file(latency_file(cpu));
    }
    for (const auto& [target, value] : values) {
      if (target.kind == Kind::kIrqBalance) {
        view.irqbalance.push_back({.socket = target.name, .banned = *CpuSet::parse(value)});
      }
      if (target.kind != Kind::kTask) continue;
      const int tid = std::stoi(target.name);
      view.kernel_threads.push_back(
          {.pid = tid,
           .tid = tid,
           .start = std::stoull(target.name.substr(target.name.find(' ') + 1)),
           .flags = kTaskKernelThread,
           .affinity = *CpuSet::parse(value)});
    }
    return view;
  }
};

// What happens between two reconciles.
struct Event {
  enum class Kind { kWish, kInterrupt, kThread, kWriter, kIrqBalance };
  Kind kind = Kind::kWish;
  IsolationLevel level = IsolationLevel::kFull;  // kWish
  unsigned bits = 0;    // kWish: what is held; kWriter: the value; else the first affinity
  unsigned choice = 0;  // kWriter: of which value
};

struct Killed {};

// The agent as far as it matters here: notes, saves, writes. `left` effects until it is killed.
class Agent {
 public:
  Agent(Machine& machine, std::string& disk, int& left)
      : machine_(machine), disk_(disk), left_(left) {
    if (disk_.empty()) return;
    const auto loaded = parse_journal(disk_);
    RC_ASSERT(loaded.has_value());
    journal_ = *loaded;
  }

  const IsolationJournal& journal() const { return journal_; }

  void isolate(const IsolationWish& wish) {
    give_back(wish.level);
    MachineView view = machine_.view();
    view.refused = refused_;
    IsolationPlan plan = plan_irqs_level(view, wish, journal_);
    append(plan, plan_full_level(view, wish, journal_));
    for (const auto level : {IsolationLevel::kIrqs, IsolationLevel::kFull}) {
      count_look(journal_, level, plan.changes);
    }
    const auto checked = check_writers(journal_, plan.changes);
    for (const Change& change : checked.changes) note(journal_, change);
    save();
    for (const Change& change : checked.changes) {
      const int number = write(change.target, change.value);
      if (number == 0) {
        confirm(journal_, change.target);
      } else {
        refused_[change.target] = {.number = number, .name = "EIO", .value = change.value};
      }
    }
    insisting_ = checked.leftovers.size();
  }

  // Entries of levels above `keep`.
  void give_back(IsolationLevel keep) {
    const Changes changes = plan_restore(journal_, keep);
    for (const Change& change : changes) {
      const auto now = machine_.values.find(change.target);
      if (now == machine_.values.end()) continue;
      if (!is_ours(*find_entry(journal_, change.target), now->second)) continue;
      if (is_same_value(change.compare, now->second, change.value)) continue;
      write(change.target, change.value);
    }
    for (const Change& change : changes) journal_.entries.erase(change.target);
    if (!changes.empty()) save();
  }

  std::size_t insisting() const { return insisting_; }

 private:
  void effect() {
    if (left_-- == 0) throw Killed{};
  }
  void save() {
    effect();
    disk_ = journal_text(journal_);
  }
  int write(const Target& target, const std::string& value) {
    effect();
    return machine_.write(target, value);
  }

  Machine& machine_;
  std::string& disk_;
  int& left_;
  IsolationJournal journal_{};
  Refusals refused_{};
  std::size_t insisting_ = 0;
};

class History {
 public:
  explicit History(int kill_at) : left_(kill_at) { agent_.emplace(machine_, disk_, left_); }

  // Runs `work` again with another agent where it was killed.
  template <typename Work>
  void run(const Work& work) {
    try {
      work();
    } catch (const Killed&) {
      agent_.emplace(machine_, disk_, left_);
      work();
    }
  }

  void happen(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kWish:
        wish_ = {
            .level = event.level, .online = cpus_of(0xff), .held = cpus_of(event.bits & 0xfeU)};
        break;
      case Event::Kind::kInterrupt: {
        const int number = machine_.next_interrupt++;
        const auto mask = parse_cpu_mask(machine_.values.at(Machine::file(kDefaultAffinity)));
        machine_.add_interrupt(number, Managed::kNo, mask->str());
        expected_[Machine::file(list_file(number))] = mask->str();
        break;
      }
      case Event::Kind::kThread: {
        const Target thread{Kind::kTask, fmt::format("{} 77", machine_.next_thread++)};
        machine_.values[thread] = expected_[thread] = cpus_of(event.bits | 1U).str();
        break;
      }
      case Event::Kind::kWriter:
        write_as_another(event);
        break;
      case Event::Kind::kIrqBalance:
        machine_.values.erase(machine_.socket());
        expected_.erase(machine_.socket());
        ++machine_.irqbalance;
        machine_.values[machine_.socket()] = expected_[machine_.socket()] = "7";
        break;
    }
    run([this] { agent_->isolate(wish_); });
    check();
  }

  void release() {
    run([this] { agent_->give_back(IsolationLevel::kContainers); });
    RC_ASSERT(machine_.values == expected_);
  }

  // How many effects there were, when nobody was killed.
  int effects(int kill_at) const { return kill_at - left_; }

 private:
  void write_as_another(const Event& event) {
    auto found = machine_.values.begin();
    std::advance(found, event.choice % machine_.values.size());
    const Target& target = found->first;
    std::string value = cpus_of(event.bits | 1U).str();
    if (target.name == kTimers) {
      value = event.bits % 2 == 0 ? "0" : "1";
    } else if (target.name == kDefaultAffinity || target.name == kWorkqueue ||
               target.name == kWriteback) {
      value = cpu_mask_text(cpus_of(event.bits | 1U), "ff");
    } else if (target.name.find("pm_qos") != std::string::npos) {
      value = std::to_string(event.bits);
    }
    // One who writes just what we have written cannot be told from us.
    const JournalEntry* entry = find_entry(agent_->journal(), target);
    if (entry != nullptr && is_ours(*entry, value)) return;
    if (machine_.write(target, value) == 0) expected_[target] = value;
  }

  // Nothing that can be moved is on held CPUs, other than what another writer insists on.
  void check() const {
    const MachineView view = machine_.view();
    const CpuSet held = wish_.held;
    std::size_t on_held = 0;
    if (wish_.level >= IsolationLevel::kIrqs) {
      for (const auto& [number, interrupt] : view.interrupts) {
        if (interrupt.affinity.managed != Managed::kNo) continue;
        if (interrupt.affinity.allowed.intersects(held)) ++on_held;
      }
      for (const auto& each : view.irqbalance) on_held += held.is_subset_of(each.banned) ? 0 : 1;
    }
    if (wish_.level >= IsolationLevel::kFull) {
      for (const Task& task : view.kernel_threads)
        on_held += task.affinity.intersects(held) ? 1 : 0;
      for (const auto& [cpu, file] : view.resume_latency) {
        if (held.contains(cpu) && file.text != "n/a") ++on_held;
      }
      if (parse_cpu_mask(view.workqueues[0].text)->intersects(held)) ++on_held;
    }
    RC_ASSERT(on_held <= agent_->insisting());
  }

  Machine machine_{};
  std::map<Target, std::string> expected_ = machine_.values;
  std::string disk_{};
  int left_;
  std::optional<Agent> agent_{};
  IsolationWish wish_{.online = cpus_of(0xff)};
};

std::vector<Event> some_history(std::size_t length) {
  const auto event = rc::gen::build<Event>(
      rc::gen::set(&Event::kind,
                   rc::gen::weightedElement<Event::Kind>({{6, Event::Kind::kWish},
                                                          {1, Event::Kind::kInterrupt},
                                                          {1, Event::Kind::kThread},
                                                          {3, Event::Kind::kWriter},
                                                          {1, Event::Kind::kIrqBalance}})),
      rc::gen::set(&Event::level, rc::gen::element(IsolationLevel::kFence, IsolationLevel::kIrqs,
                                                   IsolationLevel::kFull, IsolationLevel::kFull)),
      rc::gen::set(&Event::bits, rc::gen::inRange(0U, 256U)),
      rc::gen::set(&Event::choice, rc::gen::inRange(0U, 1000U)));
  return *rc::gen::container<std::vector<Event>>(length, event);
}

constexpr int kNever = 1'000'000;

// How many effects it had.
int live(const std::vector<Event>& events, int kill_at) {
  History history(kill_at);
  for (const Event& event : events) history.happen(event);
  history.release();
  return history.effects(kill_at);
}

RC_GTEST_PROP(MachineHistory, EndsAsItBegan, ()) { live(some_history(20), kNever); }

RC_GTEST_PROP(MachineHistory, EndsAsItBeganWhereverTheAgentIsKilled, ()) {
  const auto events = some_history(3);
  const int effects = live(events, kNever);
  for (int kill_at = 0; kill_at < effects; ++kill_at) live(events, kill_at);
}

TEST(MachineHistory, ReleasesWithoutAWishAfterTheAgentWasKilled) {
  for (int kill_at = 0; kill_at < 40; ++kill_at) {
    Machine machine;
    const auto before = machine.values;
    std::string disk;
    int left = kill_at;
    try {
      Agent agent(machine, disk, left);
      for (const char* held : {"4-5", "2-6", "5"}) {
        agent.isolate({.level = IsolationLevel::kFull,
                       .online = *CpuSet::parse("0-7"),
                       .held = *CpuSet::parse(held)});
      }
    } catch (const Killed&) {
    }
    int enough = 1'000'000;
    Agent(machine, disk, enough).give_back(IsolationLevel::kContainers);
    EXPECT_EQ(machine.values, before) << kill_at;
  }
}

}  // namespace
}  // namespace corehold
