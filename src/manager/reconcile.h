// SPDX-License-Identifier: Apache-2.0
//
// Comparing what is with what was thought: drift, containers that vanished or should not
// be there, CPUs that went offline or came back.
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_reconcile_timer(Turn& turn);
void on_observed(Turn& turn, const Observed& command);
void on_observe_failed(Turn& turn, const ObserveFailed& command);

// Takes note of the CPUs that are online now. None: not known.
void set_online(Turn& turn, const CpuSet& online);

// The pod of a container that runs although the store knows nothing of it: as the runtime
// has kept it, else one made up of what is known.
Pod pod_of_stranger(const SeenContainer& seen);

// What is known of a container from one that runs.
void take_in(Turn& turn, const SeenContainer& seen);

}  // namespace corehold
