// SPDX-License-Identifier: Apache-2.0
#include "kernel/machine_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "isolation/machine_plan.h"

namespace corehold {

std::vector<IsolationPart> machine_parts(MachineReader& reader) {
  const auto refused = [&reader](const Change& change, const Error& error) {
    reader.note_refusal(change, error);
  };
  return {
      {.name = "interrupts",
       .level = IsolationLevel::kIrqs,
       .plan = [&reader](const IsolationWish& wish,
                         IsolationJournal& journal) -> Result<IsolationPlan> {
         return plan_irqs_level(reader.look_at_interrupts(), wish, journal);
       },
       .refused = refused},
      {.name = "kernel",
       .level = IsolationLevel::kFull,
       .plan = [&reader](const IsolationWish& wish,
                         IsolationJournal& journal) -> Result<IsolationPlan> {
         const MachineView view = TRY(reader.look_at_kernel());
         forget_ended_threads(journal, view);
         return plan_full_level(view, wish, journal);
       },
       .refused = refused},
  };
}

TargetHandler irqbalance_handler(MachineReader& reader) {
  return {.read = [&reader](const Target& target) -> Result<std::string> {
            const auto seen = reader.irqbalance().look();
            const auto found = std::find_if(
                seen.running.begin(), seen.running.end(),
                [&](const IrqBalanceView& each) { return each.socket == target.name; });
            if (found != seen.running.end()) return found->banned.str();
            if (!seen.silent.empty()) return Error{Code::kIo, seen.silent.front().reason};
            return Error{Code::kNotFound, fmt::format("no irqbalance at {}", target.name)};
          },
          .write = [&reader](const Change& change) -> Result<void> {
            return reader.irqbalance().ban(change.target.name, TRY(CpuSet::parse(change.value)));
          }};
}

}  // namespace corehold
