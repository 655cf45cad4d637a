// SPDX-License-Identifier: Apache-2.0
//
// A part of isolation: it reads what it needs of the machine and plans what is missing. The
// Isolator runs parts in the order of its list: tasks first, then interrupts, irqbalance,
// workqueues, kernel threads, watchdog, timer migration, sleep states.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "isolation/change.h"
#include "isolation/journal.h"
#include "isolation/wish.h"

namespace corehold {

struct IsolationPart {
  std::string_view name{};
  IsolationLevel level = IsolationLevel::kFence;  // the lowest that has it
  // Called again after its changes are made, until it plans none. What a part cannot read is a
  // leftover; it fails only where nothing can be said at all.
  std::function<Result<IsolationPlan>(const IsolationWish&, IsolationJournal&)> plan{};
  // Told of each change that the machine has refused: the part itself names it from then on, and
  // does not plan it again. Without it the Isolator does that.
  std::function<void(const Change&, const Error&)> refused{};
};

}  // namespace corehold
