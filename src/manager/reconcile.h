// SPDX-License-Identifier: Apache-2.0
//
// Comparing what is seen with what was thought: drift, containers that vanished or should not
// be there, CPUs that went offline or came back.
#pragma once

#include "manager/command.h"
#include "manager/foreign/foreign_turn.h"
#include "manager/node_state.h"
#include "manager/running/running_turn.h"

namespace corehold {

void on_reconcile_timer(NodeState& node, const Turn& turn);
void on_observed(NodeState& node, RunningTurn& turn, const Observed& command);
void on_observe_failed(NodeState& node, const Turn& turn, const ObserveFailed& command);
// The same as on_observed() where somebody else runs the containers.
void on_observed(NodeState& node, ForeignTurn& turn, const Observed& command);

// The pod of a container that runs although the store knows nothing of it: as the runtime
// has kept it, else made up of what is known.
Pod pod_of_stranger(const SeenContainer& seen);

// What is known of a container from seeing it run.
void take_in(RunningTurn& turn, const SeenContainer& seen);

}  // namespace corehold
