// SPDX-License-Identifier: Apache-2.0
//
// The planner: a list of pods against a node that does not have to exist. Pure: the same
// node and pods give the same report.
#pragma once

#include <vector>

#include "node/node_setup.h"
#include "plan/plan_report.h"
#include "pod/pod.h"

namespace corehold {

// Admits the pods one after the other; one that is refused leaves no trace. The init
// containers of a pod have run to their end before the next pod comes, so that CPUs only
// they had are free again.
//
// Then pods are resized to what `resizes` say, one after the other, and each has been applied
// when the next comes; one that is refused leaves no trace either. A pod that was not admitted
// cannot be resized: Infeasible.
// REQUIRES: the pods have passed validate(), and no two have namespace and name in common;
// each of `resizes` is one of `pods` but for the resources of its containers.
PlanReport plan(const NodeSetup& node, const std::vector<Pod>& pods,
                const std::vector<Pod>& resizes = {});

}  // namespace corehold
