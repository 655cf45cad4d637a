// SPDX-License-Identifier: Apache-2.0
//
// Why a pod is refused, for people who plan: which rule says no, what there is too
// little of, who has it, and whether an empty node would admit the pod.
#pragma once

#include "policy/admission.h"
#include "sim/node_setup.h"
#include "sim/plan_report.h"

namespace corehold {

// `before`: the bookings the decision was made on.
// REQUIRES: the decision is a refusal of this pod.
PlannedRefusal explain_refusal(const NodeSetup& node, const Bookings& before, const Pod& pod,
                               const Decision& decision);

}  // namespace corehold
