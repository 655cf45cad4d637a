// SPDX-License-Identifier: Apache-2.0
//
// A resize that was accepted, on its way: who shrinks is told, given its delay (delay.h) and moved,
// the CPUs go to those that grow, and it is complete when every container has what it was granted.
#pragma once

#include "manager/placing/placing_turn.h"

namespace corehold {

// Takes CPUs back that containers of the pod have left after they were told to. Not while the
// checkpoint is being written.
void finish_shrinks(PlacingTurn& turn, const std::string& uid, PlacedPod& pod);

// Ends the resize of the pod if nothing of it is left to do.
void complete_resize(PlacingTurn& turn, const std::string& uid, PlacedPod& pod);

}  // namespace corehold
