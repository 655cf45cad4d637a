// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's counters of one decision about a pod: tries of the topology manager,
// requests for exclusive CPUs, and what was aligned to what.
#pragma once

#include "manager/placing/placing_turn.h"
#include "policy/admission.h"

namespace corehold {

// Each try is counted, also when a pod that waits is tried again.
void count_admission(PlacingTurn& turn, const Decision& decision);

}  // namespace corehold
