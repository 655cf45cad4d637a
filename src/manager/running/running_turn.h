// SPDX-License-Identifier: Apache-2.0
//
// RunningTurn: the running half of one step() under way, and the placing half that it drives.
// Inside the manager only.
#pragma once

#include <string>

#include "manager/placing/placing_turn.h"
#include "manager/running/running_state.h"
#include "manager/turn.h"

namespace corehold {

struct RunningTurn : Turn {
  RunningState& running;
  PlacingTurn& placing;

  // The pod is looked at in this turn.
  void touch(const std::string& uid) const { running.work.insert(uid); }
};

}  // namespace corehold
