// SPDX-License-Identifier: Apache-2.0
#include "isolation/fence.h"

#include <set>

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

// A task that is newer than the first affinity of ours and has exactly what we give has inherited
// it: without us it could run anywhere.
bool has_inherited(const Task& task, const IsolationWish& wish, const IsolationJournal& journal) {
  return journal.since != 0 && task.start > journal.since &&
         (task.affinity & wish.online) == wish.rest();
}

// A task in the root of cgroup v2.
void plan_task(const Task& task, const IsolationWish& wish, const IsolationJournal& journal,
               IsolationPlan& plan) {
  const Target target{.kind = Target::Kind::kTask, .name = task_name(task)};
  const CpuSet now = task.affinity & wish.online;
  const JournalEntry* entry = find_entry(journal, target);
  if (entry == nullptr && has_inherited(task, wish, journal)) {
    plan.changes.push_back({.target = target, .before = wish.online.str(), .value = now.str()});
    return;
  }
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
        {.what = fmt::format("cpuset {} with {} tasks", cpuset.cgroup, cpuset.tasks),
         .reason = fmt::format("somebody else made it and lets it use CPUs {}", both.str()),
         .advice = fmt::format("take CPUs {} out of its cpuset.cpus", both.str())});
  }
}

}  // namespace

std::string task_name(const Task& task) { return fmt::format("{} {}", task.tid, task.start); }

std::string displaced_task(const Task& task, const CpuSet& pin) {
  return fmt::format("task {} ({}), pinned to CPUs {}", task.tid, task.name, pin.str());
}

void forget_ended_tasks(IsolationJournal& journal, const FenceView& view) {
  std::set<std::string> names;
  for (const Task& task : view.tasks) names.insert(task_name(task));
  std::erase_if(journal.entries, [&](const auto& each) {
    const auto& [target, entry] = each;
    return target.kind == Target::Kind::kTask && entry.level == IsolationLevel::kFence &&
           !names.contains(target.name);
  });
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
