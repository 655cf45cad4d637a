// SPDX-License-Identifier: Apache-2.0
//
// The running half of the manager: records, start, back-off, restart, stop, forget. It drives the
// placing half by the same commands as a runtime of somebody else (placing/placing_command.h).
#pragma once

#include <vector>

#include "manager/running/running_turn.h"

namespace corehold {

// Tells the placing half how it stands with the pods that have changed, before it decides.
void report_pods(RunningTurn& turn);
// Takes what the placing half has decided.
void take_notices(RunningTurn& turn, const std::vector<Notice>& notices);
// Asks the store for what is to be saved; then, when the placing half has asked for cpusets,
// starts, stops, removes and forgets.
void save_pods(RunningTurn& turn);
void run_pods(RunningTurn& turn);

}  // namespace corehold
