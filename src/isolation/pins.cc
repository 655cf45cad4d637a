// SPDX-License-Identifier: Apache-2.0
#include "isolation/pins.h"

#include <algorithm>
#include <utility>

#include "isolation/fence.h"

namespace corehold {
namespace {

bool is_pinned(const ConfinedTask& each) { return !each.allowed.is_subset_of(each.task.affinity); }

// What is left of the pin where the task is; a pin of which nothing is left does not count.
CpuSet usable(const CpuSet& pin, const CpuSet& allowed) {
  const CpuSet both = pin & allowed;
  return both.empty() ? allowed : both;
}

bool is_of(const TaskPin& pin, const Task& task) { return pin.start == task.start; }

using Pins = std::map<pid_t, TaskPin>;
using Threads = std::map<pid_t, std::vector<const Task*>>;  // of a process

// The pin of a thread of the process of which just these CPUs are left.
const TaskPin* find_pin(const Pins& pins, const Threads& threads, pid_t process,
                        const ConfinedTask& each) {
  const auto found = threads.find(process);
  if (found == threads.end()) return nullptr;
  const CpuSet now = each.task.affinity & each.allowed;
  for (const Task* thread : found->second) {
    const auto pin = pins.find(thread->tid);
    if (pin == pins.end() || !is_of(pin->second, *thread)) continue;
    if (now == usable(pin->second.cpus, each.allowed)) return &pin->second;
  }
  return nullptr;
}

}  // namespace

void note_pins(std::map<pid_t, TaskPin>& pins, const std::vector<ConfinedTask>& tasks,
               std::uint64_t looked) {
  Threads threads;
  std::vector<const ConfinedTask*> by_age;
  for (const ConfinedTask& each : tasks) {
    threads[each.task.pid].push_back(&each.task);
    by_age.push_back(&each);
  }
  std::stable_sort(by_age.begin(), by_age.end(), [](const ConfinedTask* a, const ConfinedTask* b) {
    return a->task.start < b->task.start;
  });
  Pins noted;
  for (const ConfinedTask* const pointer : by_age) {
    const ConfinedTask& each = *pointer;
    const Task& task = each.task;
    const auto known = pins.find(task.tid);
    const CpuSet now = task.affinity & each.allowed;
    // All that is allowed: nobody has chosen that since, or the kernel has forgotten the pin.
    const bool is_kept = known != pins.end() && is_of(known->second, task) &&
                         (now == each.allowed || now == usable(known->second.cpus, each.allowed));
    const TaskPin* heritage = nullptr;
    if (!is_kept && task.start > looked) {
      heritage = find_pin(noted, threads, task.pid, each);
      if (heritage == nullptr) heritage = find_pin(noted, threads, task.parent, each);
    }
    if (is_kept) {
      noted.insert(*known);
    } else if (heritage != nullptr) {
      noted.insert({task.tid, {.start = task.start, .name = task.name, .cpus = heritage->cpus}});
    } else if (is_pinned(each)) {
      noted.insert({task.tid, {.start = task.start, .name = task.name, .cpus = task.affinity}});
    }
  }
  pins = std::move(noted);
}

std::uint64_t newest_start(const std::vector<ConfinedTask>& tasks) {
  std::uint64_t newest = 0;
  for (const ConfinedTask& each : tasks) newest = std::max(newest, each.task.start);
  return newest;
}

std::vector<PinRepair> plan_moved_tasks(const IsolationJournal& journal,
                                        const std::vector<ConfinedTask>& tasks) {
  std::vector<PinRepair> repairs;
  for (const ConfinedTask& each : tasks) {
    const Task& task = each.task;
    const JournalEntry* entry =
        find_entry(journal, {.kind = Target::Kind::kTask, .name = task_name(task)});
    if (entry == nullptr) continue;
    const auto written = CpuSet::parse(entry->written);
    const auto before = CpuSet::parse(entry->before);
    if (!written || !before || before->empty()) continue;
    if ((task.affinity & each.allowed) != usable(*written, each.allowed)) continue;
    repairs.push_back({.tid = task.tid, .start = task.start, .name = task.name, .cpus = *before});
  }
  return repairs;
}

PinPlan plan_pins(std::map<pid_t, TaskPin>& pins, const std::vector<ConfinedTask>& tasks,
                  const CpuSet& held) {
  PinPlan plan;
  for (const ConfinedTask& each : tasks) {
    const Task& task = each.task;
    const auto known = pins.find(task.tid);
    if (known == pins.end() || !is_of(known->second, task)) continue;
    const CpuSet& pin = known->second.cpus;
    const CpuSet wanted = usable(pin, each.allowed);
    const CpuSet now = task.affinity & each.allowed;
    if (now != wanted && now == each.allowed) {
      plan.repairs.push_back(
          {.tid = task.tid, .start = task.start, .name = task.name, .cpus = pin});
    }
    if (!pin.intersects(each.allowed) && pin.intersects(held)) {
      plan.displaced.push_back(displaced_task(task, pin));
    }
    const bool is_shown = pin.is_subset_of(each.allowed) && pin != each.allowed;
    if (is_shown) pins.erase(known);
  }
  return plan;
}

}  // namespace corehold
