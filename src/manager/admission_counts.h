// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's counters of one decision about a pod: tries of the topology manager,
// requests for exclusive CPUs, and what was aligned to what.
#pragma once

#include "manager/turn.h"
#include "policy/admission.h"

namespace corehold {

// Each try is counted, also when a pod that waits is tried again.
// REQUIRES: the decision has not been put into effect yet.
void count_admission(Turn& turn, const Pod& pod, const Decision& decision);

}  // namespace corehold
