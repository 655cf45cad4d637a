// SPDX-License-Identifier: Apache-2.0
//
// NodeState: all that the manager knows, in two halves with a state each: placing and, by who runs
// the containers, running or foreign. A value, changed only by step(). What must survive the agent
// is in State (the checkpoint) and in PodRecord (the store); the rest is found again by recovery.
#pragma once

#include <set>
#include <string>

#include "manager/foreign/foreign_state.h"
#include "manager/placing/placing_state.h"
#include "manager/running/running_state.h"

namespace corehold {

struct NodeState {
  PlacingState placing{};
  RunningState running{};  // Driver::kRunning
  ForeignState foreign{};  // Driver::kForeign

  bool observing = false;                  // the runtime has been asked what there is
  std::uint64_t observing_since = 0;       // the PlacingState::turn in which it was asked
  std::set<std::string> gone_meanwhile{};  // pods forgotten since
};

}  // namespace corehold
