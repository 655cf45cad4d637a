// SPDX-License-Identifier: Apache-2.0
//
// The delay between being told and losing CPUs (KEP-6122). It begins when the container's
// files are confirmed to list what is left, lasts its full length by the steady clock, and
// is the pod's own, if it has one. A shrink that is replaced, or not wanted any more, ends
// it: another has a delay of its own. An agent that starts anew starts it anew.
//
//     decided -> told: files confirmed, timer started -> due: timer fired -> applied
#pragma once

#include <chrono>

#include "manager/placing/placing_turn.h"

namespace corehold {

// How long the pod's containers keep CPUs that they lose. Changing that does not change a
// delay that has begun, and counts once the store has it.
std::chrono::milliseconds scale_delay_of(const ManagerRules& rules, const PlacedPod& pod);

// Starts the delay of every shrink that has been told and ends that of every one that is not
// wanted any more. Whether a shrink needs none and is due at once.
bool delay_shrinks(PlacingTurn& turn);
void on_delay_timer(PlacingTurn& turn, const ContainerRef& ref);

// Counts how late the container was put on what it keeps, if it was now.
// REQUIRES: its CPUs are still those before.
void note_overshoot(PlacingTurn& turn, const PlacedContainer& state, const CpuSet& cpus);

}  // namespace corehold
