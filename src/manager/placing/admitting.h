// SPDX-License-Identifier: Apache-2.0
//
// Admission and release of pods, and the checkpoint that makes both durable. While it is being
// written nothing here changes.
#pragma once

#include "manager/command.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

void on_checkpoint_saved(PlacingTurn& turn, const CheckpointSaved& command);
void on_checkpoint_retry(PlacingTurn& turn);
void on_cordon(PlacingTurn& turn, const SetCordon& command);

// Whether the pod has to wait because the node is cordoned.
bool is_held_by_cordon(const PlacingState& placing, const PlacedPod& pod);

// Releases what finished pods and init containers hold, resizes and then admits the waiting pods
// that fit, and has the checkpoint written if that has changed it.
void place_pods(PlacingTurn& turn);

// What becomes of the pod `now` if it asks for what `wanted` says, as things are.
ResizeDecision decide_online(const PlacingTurn& turn, const Pod& now, const Pod& wanted);

// How many CPUs of its own each container is entitled to, by what it was granted.
void entitle(const ManagerRules& rules, PlacedPod& pod);

}  // namespace corehold
