// SPDX-License-Identifier: Apache-2.0
//
// Who holds what: admission and release of pods, and the checkpoint that makes both
// durable. While it is being written nothing here changes.
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_checkpoint_saved(Turn& turn, const CheckpointSaved& command);

void on_cordon(Turn& turn, const SetCordon& command);

// Fails the pods that need features which the node does not declare. Every pod is asked once in
// each life of the agent, new or there before: what a node declares does not change while it
// runs, so that waiting would be in vain. What runs of such a pod is stopped.
void refuse_unsupported(Turn& turn);

// Releases what finished pods and init containers hold, resizes and then admits the waiting pods
// that fit, and has the checkpoint written if that has changed it.
void place_pods(Turn& turn);

// What becomes of the pod `now` if it asks for what `wanted` says, as things are.
ResizeDecision decide_online(const Turn& turn, const Pod& now, const Pod& wanted);

// Books what the pod's record says it holds of memory and devices.
void restore_bookings(Turn& turn, const std::string& uid, const PodRecord& record);

}  // namespace corehold
