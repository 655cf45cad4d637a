// SPDX-License-Identifier: Apache-2.0
//
// Level full: what of the kernel itself can be kept off held CPUs.
#include <set>
#include <string>

#include <fmt/format.h>

#include "isolation/cpu_mask.h"
#include "isolation/fence.h"
#include "isolation/knob.h"
#include "isolation/machine_plan.h"

namespace corehold {
namespace {

// Held CPUs are left to the kernel where partitions are in use and it knows how.
bool is_done_by_kernel(const MachineView& view, int major, int minor) {
  return view.partitions == Partitions::kSome && view.facts.is_at_least(major, minor);
}

Knob knob_of(const KernelFile& file, Compare compare, std::string what) {
  return {.target = {.kind = Target::Kind::kFile, .name = file.path},
          .level = IsolationLevel::kFull,
          .compare = compare,
          .now = file.text,
          .what = std::move(what)};
}

}  // namespace

IsolationPlan plan_workqueues(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal) {
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kFull || is_done_by_kernel(view, 6, 8)) return plan;
  for (const KernelFile& file : view.workqueues) {
    const Knob knob = knob_of(file, Compare::kText, "unbound work of the kernel: " + file.path);
    const std::string before = original_value(journal, knob);
    const auto own = parse_cpu_mask(before);
    if (!own) continue;
    plan_value(knob, cpu_mask_text(allowed_of(*own, wish), before), view.refused, plan);
  }
  return plan;
}

IsolationPlan plan_kernel_threads(const MachineView& view, const IsolationWish& wish,
                                  const IsolationJournal& journal) {
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kFull || is_done_by_kernel(view, 7, 0)) return plan;
  for (const Task& task : view.kernel_threads) {
    if (!is_kernel_thread(task) || is_bound(task)) continue;
    const Knob knob{.target = {.kind = Target::Kind::kTask, .name = task_name(task)},
                    .level = IsolationLevel::kFull,
                    .now = (task.affinity & wish.online).str(),
                    .what = fmt::format("kernel thread {} ({})", task.tid, task.name)};
    const auto own = CpuSet::parse(original_value(journal, knob));
    if (!own) continue;
    plan_value(knob, allowed_of(*own, wish).str(), view.refused, plan);
  }
  return plan;
}

void forget_ended_threads(IsolationJournal& journal, const MachineView& view) {
  if (view.kernel_threads.empty()) return;  // they could not be read
  std::set<std::string> living;
  for (const Task& task : view.kernel_threads) living.insert(task_name(task));
  std::erase_if(journal.entries, [&](const auto& each) {
    const auto& [target, entry] = each;
    return target.kind == Target::Kind::kTask && entry.level == IsolationLevel::kFull &&
           !living.contains(target.name);
  });
}

IsolationPlan plan_watchdog(const MachineView& view, const IsolationWish& wish,
                            const IsolationJournal& journal) {
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kFull || !view.watchdog) return plan;
  const Knob knob = knob_of(*view.watchdog, Compare::kCpuList, "the soft-lockup watchdog");
  const auto own = CpuSet::parse(original_value(journal, knob));
  if (own) plan_value(knob, allowed_of(*own, wish).str(), view.refused, plan);
  return plan;
}

IsolationPlan plan_timer_migration(const MachineView& view, const IsolationWish& wish,
                                   const IsolationJournal& journal) {
  IsolationPlan plan;
  // From 7.0 on the kernel hands timers to CPUs that are awake and not isolated by itself.
  if (wish.level < IsolationLevel::kFull || !view.timer_migration || view.facts.is_at_least(7, 0)) {
    return plan;
  }
  const Knob knob =
      knob_of(*view.timer_migration, Compare::kText, "timers that idle CPUs hand to busy ones");
  plan_value(knob, wish.held.empty() ? original_value(journal, knob) : "0", view.refused, plan);
  return plan;
}

IsolationPlan plan_sleep_states(const MachineView& view, const IsolationWish& wish,
                                const IsolationJournal& journal) {
  // No latency is accepted. "0" would be no limit.
  constexpr const char* kAwake = "n/a";
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kFull) return plan;
  for (const auto& [cpu, file] : view.resume_latency) {
    const Knob knob =
        knob_of(file, Compare::kText, fmt::format("deep sleep states of CPU {}", cpu.value));
    const std::string value = wish.held.contains(cpu) ? kAwake : original_value(journal, knob);
    plan_value(knob, value, view.refused, plan);
  }
  return plan;
}

IsolationPlan plan_full_level(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal) {
  IsolationPlan all;
  for (const auto& part : {plan_workqueues, plan_kernel_threads, plan_watchdog,
                           plan_timer_migration, plan_sleep_states}) {
    append(all, part(view, wish, journal));
  }
  return all;
}

}  // namespace corehold
