// SPDX-License-Identifier: Apache-2.0
//
// Level irqs: interrupts and irqbalance.
#include <fmt/format.h>

#include "isolation/cpu_mask.h"
#include "isolation/knob.h"
#include "isolation/machine_plan.h"

namespace corehold {
namespace {

// What people know the interrupt by; "" for one that no device uses, which need not be named.
std::string interrupt_name(int number, const InterruptView& interrupt) {
  if (interrupt.devices.empty()) return "";
  return fmt::format("interrupt {} ({}{})", number, fmt::join(interrupt.devices, ", "),
                     interrupt.affinity.managed == Managed::kNo ? "" : ", managed");
}

std::string managed_advice(const IsolationWish& wish) {
  return fmt::format("boot with isolcpus=managed_irq,{}", wish.held.str());
}

void plan_managed(int number, const InterruptView& interrupt, const IsolationWish& wish,
                  IsolationPlan& plan) {
  const InterruptAffinity& affinity = interrupt.affinity;
  const CpuSet& comes_to = affinity.effective.empty() ? affinity.allowed : affinity.effective;
  if (interrupt.devices.empty() || !comes_to.intersects(wish.held)) return;
  plan.leftovers.push_back({.level = IsolationLevel::kIrqs,
                            .stays = Leftover::Stays::kByNature,
                            .what = interrupt_name(number, interrupt),
                            .reason = "the kernel alone chooses the CPUs of managed interrupts",
                            .advice = managed_advice(wish)});
}

void plan_interrupt(int number, const InterruptView& interrupt, const MachineView& view,
                    const IsolationWish& wish, const IsolationJournal& journal,
                    IsolationPlan& plan) {
  if (interrupt.affinity.managed == Managed::kYes) {
    plan_managed(number, interrupt, wish, plan);
    return;
  }
  const Knob knob{.target = {.kind = Target::Kind::kFile, .name = interrupt.list_file},
                  .now = interrupt.affinity.allowed.str(),
                  .what = interrupt_name(number, interrupt),
                  .advice = interrupt.affinity.managed == Managed::kNo ? "" : managed_advice(wish)};
  const auto own = CpuSet::parse(original_value(journal, knob));
  if (!own) return;
  plan_value(knob, allowed_of(*own, wish).str(), view.refused, plan);
}

}  // namespace

IsolationPlan plan_interrupts(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal) {
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kIrqs) return plan;
  if (view.default_affinity) {
    const Knob knob{.target = {.kind = Target::Kind::kFile, .name = view.default_affinity->path},
                    .compare = Compare::kText,
                    .now = view.default_affinity->text,
                    .what = "interrupts of devices that appear later"};
    const std::string before = original_value(journal, knob);
    if (const auto own = parse_cpu_mask(before)) {
      plan_value(knob, cpu_mask_text(allowed_of(*own, wish), before), view.refused, plan);
    }
  }
  for (const auto& [number, interrupt] : view.interrupts) {
    plan_interrupt(number, interrupt, view, wish, journal, plan);
  }
  return plan;
}

IsolationPlan plan_irqbalance(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal) {
  IsolationPlan plan;
  if (wish.level < IsolationLevel::kIrqs) return plan;
  for (const IrqBalanceView& irqbalance : view.irqbalance) {
    const Knob knob{.target = {.kind = Target::Kind::kIrqBalance, .name = irqbalance.socket},
                    .now = irqbalance.banned.str(),
                    .what = "irqbalance"};
    const auto own = CpuSet::parse(original_value(journal, knob));
    if (!own) continue;
    plan_value(knob, (*own | wish.held).str(), view.refused, plan);
  }
  return plan;
}

IsolationPlan plan_irqs_level(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal) {
  IsolationPlan all{.leftovers = view.unread};
  append(all, plan_irqbalance(view, wish, journal));
  append(all, plan_interrupts(view, wish, journal));
  return all;
}

}  // namespace corehold
