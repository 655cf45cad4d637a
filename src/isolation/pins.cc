// SPDX-License-Identifier: Apache-2.0
#include "isolation/pins.h"

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

}  // namespace

void note_pins(std::map<pid_t, TaskPin>& pins, const std::vector<ConfinedTask>& tasks) {
  std::map<pid_t, TaskPin> noted;
  for (const ConfinedTask& each : tasks) {
    const Task& task = each.task;
    const auto known = pins.find(task.tid);
    const CpuSet now = task.affinity & each.allowed;
    // All that is allowed: nobody has chosen that since, or the kernel has forgotten the pin.
    const bool is_kept = known != pins.end() && is_of(known->second, task) &&
                         (now == each.allowed || now == usable(known->second.cpus, each.allowed));
    if (is_kept) {
      noted.insert(*known);
    } else if (is_pinned(each)) {
      noted.insert({task.tid, {.start = task.start, .name = task.name, .cpus = task.affinity}});
    }
  }
  pins = std::move(noted);
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
      plan.repairs.push_back({.tid = task.tid, .name = task.name, .cpus = pin});
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
