// SPDX-License-Identifier: Apache-2.0
//
// One resize on a node that is planned: what it would give, or who would have to leave.
// The decision itself is that of policy/resize/resize.h.
#pragma once

#include "node/node_setup.h"
#include "plan/plan_report.h"

namespace corehold {

struct ResizeAsked {
  const Pod& now;     // as it is, its UID that of the bookings
  const Pod& wanted;  // the same with other resources
};

// Accepted: `bookings` and `planned`, the pod's part of the report, are as they will be when
// the resize has been applied, all shrinks included. Else they stay as they are.
PlannedResize plan_resize(const NodeSetup& node, const ResizeAsked& asked, PlannedPod& planned,
                          Bookings& bookings);

}  // namespace corehold
