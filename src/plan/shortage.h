// SPDX-License-Identifier: Apache-2.0
//
// Why a pod is refused, for people who plan: which rule says no, what there is too
// little of, who has it, and whether an empty node would admit the pod.
#pragma once

#include "node/node_setup.h"
#include "plan/plan_report.h"
#include "policy/admission.h"

namespace corehold {

// `bookings`: those the decision was made on. They change on the way, and are as before in the end.
// REQUIRES: the decision is a refusal of this pod.
PlannedRefusal explain_refusal(const NodeSetup& node, Bookings& bookings, const Pod& pod,
                               const Decision& decision);

}  // namespace corehold
