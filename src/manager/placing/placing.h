// SPDX-License-Identifier: Apache-2.0
//
// The placing half of the manager. Whatever runs the containers tells it of pods and containers
// (placing_command.h) and is told by notices (notice.h) what was decided; all else it does by
// itself: admission, checkpoint, cpusets, files, delay, resize, drift.
#pragma once

#include <optional>

#include "manager/command.h"
#include "manager/placing/placing_command.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

void take(PlacingTurn& turn, const ClaimPod& command);
void take(PlacingTurn& turn, const AmendPod& command);
void take(PlacingTurn& turn, const WishResize& command);
void take(PlacingTurn& turn, const SetCourse& command);
void take(PlacingTurn& turn, const SetDone& command);
void take(PlacingTurn& turn, const ReclaimPod& command);
void take(PlacingTurn& turn, const DropPod& command);
void take(PlacingTurn& turn, const ContainerPlaced& command);
void take(PlacingTurn& turn, const ContainerGone& command);

// The container is about to start: may it, and where? From then on it counts as starting, until
// ContainerPlaced or ContainerGone. No value: not yet; ask again in a later turn. Exclusive before
// start: a value is given only when the checkpoint that gives the container its CPUs is saved, its
// files say so, and no other container can be running there.
std::optional<Placement> place_start(PlacingTurn& turn, const ContainerRef& ref);

// Decides and asks for what follows from all that has been told. First admission, checkpoint,
// files and resizes; then, when records of all that are on their way to the store, cpusets.
void decide_placing(PlacingTurn& turn);
void set_placing(PlacingTurn& turn);
// At the end of a turn: what is to be looked at in later turns.
void end_placing(PlacingTurn& turn);

// Copies what the placing half keeps of the pod into its record.
void copy_placed(const PlacingState& placing, const PlacedPod& pod, PodRecord& record);

}  // namespace corehold
