// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a life of the agent: which containers hold which CPUs by what the checkpoint
// says and by where they run.
#pragma once

#include "manager/placing/placing_turn.h"

namespace corehold {

// Running containers of the pod whose CPUs the checkpoint has lost hold what they run on, also
// where it gives that to containers that do not run, which lose it.
void hold_what_runs(PlacingTurn& turn, PlacedPod& pod);

// Holdings of containers that are not known are given back.
void drop_strange_holdings(PlacingTurn& turn);

}  // namespace corehold
