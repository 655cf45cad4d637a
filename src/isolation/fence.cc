// SPDX-License-Identifier: Apache-2.0
#include "isolation/fence.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace corehold {
namespace {

CpuSet cpus_of(const std::string& text) {
  const auto cpus = CpuSet::parse(text);
  return cpus ? *cpus : CpuSet{};
}

// What the target had before any change of ours; with no change so far: what it has now.
std::string original(const IsolationJournal& journal, const Target& target,
                     const std::string& now) {
  const JournalEntry* entry = find_entry(journal, target);
  return entry == nullptr ? now : entry->before;
}

// CPUs of its own that a group has stay a limit: it gets those of them that nobody holds.
void plan_group(const FenceGroup& group, const IsolationWish& wish, const IsolationJournal& journal,
                IsolationPlan& plan) {
  const CpuSet own = cpus_of(original(journal, group.target, group.value));
  const CpuSet wanted = own.empty() ? wish.rest() : own & wish.rest();
  if (wanted.empty()) {
    plan.leftovers.push_back(
        {.what = fmt::format("{}", group.cgroup),
         .reason =
             fmt::format("it is allowed CPUs {} alone, all of which containers hold", own.str()),
         .advice = fmt::format("let it use others of the machine's CPUs, such as {}",
                               wish.rest().str())});
    return;
  }
  if (!group.value.empty() && cpus_of(group.value) == wanted) return;
  plan.changes.push_back({.target = group.target, .before = group.value, .value = wanted.str()});
}

// Finds out what a task would have without us that has an affinity of ours and no note.
class Heritage {
 public:
  Heritage(const IsolationJournal& journal, const std::map<Target, JournalEntry>& given_back,
           const FenceView& view, const CpuSet& online)
      : journal_(journal), given_back_(given_back), online_(online) {
    for (const Task& task : view.tasks) threads_[task.pid].push_back(&task);
  }

  // No value: it has inherited nothing.
  std::optional<CpuSet> of(const Task& task) const {
    const CpuSet now = task.affinity & online_;
    if (now == online_) return std::nullopt;
    CpuSet found = from_threads(task.pid, now);
    if (found.empty()) found = from_threads(task.parent, now);
    // Whoever started it has ended.
    if (found.empty() && is_rest(now)) found = online_;
    if (found.empty() || found == now) return std::nullopt;
    return found;
  }

 private:
  // What one of the threads had that was given just this; of several the most.
  CpuSet from_threads(pid_t process, const CpuSet& now) const {
    CpuSet most;
    const auto threads = threads_.find(process);
    if (threads == threads_.end()) return most;
    for (const Task* thread : threads->second) {
      const JournalEntry* entry = entry_of(*thread);
      if (entry == nullptr) continue;
      if (!is_cpus(entry->written, now) && !is_cpus(entry->previous, now)) continue;
      const CpuSet before = cpus_of(entry->before) & online_;
      if (before.size() > most.size()) most = before;
    }
    return most;
  }

  const JournalEntry* entry_of(const Task& task) const {
    const Target target{.kind = Target::Kind::kTask, .name = task_name(task)};
    if (const JournalEntry* entry = find_entry(journal_, target)) return entry;
    const auto given = given_back_.find(target);
    return given == given_back_.end() ? nullptr : &given->second;
  }

  bool is_cpus(const std::string& text, const CpuSet& now) const {
    return (cpus_of(text) & online_) == now;
  }

  bool is_rest(const CpuSet& now) const {
    if (!journal_.held.empty() && online_ - journal_.held == now) return true;
    return std::any_of(journal_.rests.begin(), journal_.rests.end(),
                       [&](const CpuSet& rest) { return (rest & online_) == now; });
  }

  const IsolationJournal& journal_;
  const std::map<Target, JournalEntry>& given_back_;
  CpuSet online_;
  std::map<pid_t, std::vector<const Task*>> threads_{};
};

// A task in the root of cgroup v2.
void plan_task(const Task& task, const IsolationWish& wish, const IsolationJournal& journal,
               IsolationPlan& plan) {
  const Target target{.kind = Target::Kind::kTask, .name = task_name(task)};
  const CpuSet now = task.affinity & wish.online;
  const JournalEntry* entry = find_entry(journal, target);
  if (entry == nullptr && !now.intersects(wish.held)) return;
  const CpuSet own = entry == nullptr ? now : cpus_of(entry->before) & wish.online;
  CpuSet wanted = own & wish.rest();
  if (wanted.empty()) {
    plan.displaced.push_back(displaced_task(task, own));
    wanted = wish.rest();
  }
  if (now == wanted) return;
  plan.changes.push_back({.target = target, .before = now.str(), .value = wanted.str()});
}

void plan_member(const FenceView& view, const Task& task, std::string_view file,
                 IsolationPlan& plan) {
  plan.changes.push_back({.target = {.kind = Target::Kind::kMember, .name = task_name(task)},
                          .before = task.cgroup,
                          .value = fmt::format("{}/{}", view.cpuset, file),
                          .restore = Restore::kNever,
                          .compare = Compare::kText});
}

// Processes of which all threads are in the root cpuset move as a whole: nothing that they start
// meanwhile is left behind.
void plan_members(const FenceView& view, IsolationPlan& plan) {
  pid_t whole = 0;
  for (const Task& task : view.tasks) {
    if (is_kernel_thread(task)) continue;
    if (task.tid == task.pid && !view.split.contains(task.pid)) {
      whole = task.pid;
      plan_member(view, task, "cgroup.procs", plan);
    } else if (task.pid != whole) {
      plan_member(view, task, "tasks", plan);
    }
  }
}

void plan_cpuset(const FenceView& view, const IsolationWish& wish, const IsolationJournal& journal,
                 IsolationPlan& plan) {
  const Target target{.kind = Target::Kind::kCpuset, .name = view.cpuset};
  // One that is there and not in the journal was left by an agent with another journal: it goes in
  // the end.
  const bool is_known = find_entry(journal, target) != nullptr;
  if (!is_known || view.cpuset_value.empty() || cpus_of(view.cpuset_value) != wish.rest()) {
    plan.changes.push_back({.target = target,
                            .before = is_known ? view.cpuset_value : "",
                            .value = wish.rest().str()});
  }
  plan_members(view, plan);
  for (const ForeignCpuset& cpuset : view.foreign) {
    const CpuSet both = cpuset.cpus & wish.held;
    if (cpuset.tasks == 0 || both.empty()) continue;
    plan.leftovers.push_back(
        {.what = fmt::format("cpuset {}", cpuset.cgroup),
         .reason = fmt::format("somebody else made it and lets it use CPUs {}", both.str()),
         .advice = fmt::format("take CPUs {} out of its cpuset.cpus", both.str())});
  }
}

}  // namespace

std::string task_name(const Task& task) { return fmt::format("{} {}", task.tid, task.start); }

std::string displaced_task(const Task& task, const CpuSet& pin) {
  return fmt::format("task {} ({}), pinned to CPUs {}", task.tid, task.name, pin.str());
}

void forget_ended_tasks(IsolationJournal& journal, const std::set<std::string>& living) {
  std::erase_if(journal.entries, [&](const auto& each) {
    const auto& [target, entry] = each;
    return target.kind == Target::Kind::kTask && entry.level == IsolationLevel::kFence &&
           !living.contains(target.name);
  });
}

std::size_t note_inherited(IsolationJournal& journal, const FenceView& view, const CpuSet& online,
                           const std::map<Target, JournalEntry>& given_back) {
  if (journal.since == 0) return 0;
  std::vector<const Task*> unknown;
  for (const Task& task : view.tasks) {
    const Target target{.kind = Target::Kind::kTask, .name = task_name(task)};
    // One that is older than the first affinity of ours has chosen what it has.
    if (is_kernel_thread(task) || task.start <= journal.since) continue;
    if (find_entry(journal, target) == nullptr) unknown.push_back(&task);
  }
  // Those that have inherited from each other: the elder first.
  std::stable_sort(unknown.begin(), unknown.end(),
                   [](const Task* a, const Task* b) { return a->start < b->start; });
  const Heritage heritage(journal, given_back, view, online);
  std::size_t noted = 0;
  for (const Task* task : unknown) {
    const auto before = heritage.of(*task);
    if (!before) continue;
    const std::string now = (task->affinity & online).str();
    const Target target{.kind = Target::Kind::kTask, .name = task_name(*task)};
    note(journal, {.target = target, .before = before->str(), .value = now});
    confirm(journal, target);
    ++noted;
  }
  return noted;
}

IsolationPlan plan_fence(const FenceView& view, const IsolationWish& wish,
                         const IsolationJournal& journal) {
  IsolationPlan plan;
  if (view.way == FenceView::Way::kCpuset) {
    plan_cpuset(view, wish, journal, plan);
    return plan;
  }
  for (const FenceGroup& group : view.groups) plan_group(group, wish, journal, plan);
  for (const Task& task : view.tasks) {
    if (!is_kernel_thread(task)) plan_task(task, wish, journal, plan);
  }
  return plan;
}

}  // namespace corehold
