// SPDX-License-Identifier: Apache-2.0
//
// The beginning of every life: what was stored, what the checkpoint says and what runs
// are brought together. Nothing that runs is touched; what has ended meanwhile is
// recorded; what is held by nobody is released.
#pragma once

#include "manager/command.h"
#include "manager/running/running_turn.h"

namespace corehold {

void on_recover(RunningTurn& turn, const Recover& command);

}  // namespace corehold
