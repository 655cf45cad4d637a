// SPDX-License-Identifier: Apache-2.0
//
// Plans made by hand, for tests of their rendering.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_report.h"
#include "topology/topology.h"

namespace corehold {

struct Given {
  std::string pod;  // "namespace/name"
  std::string container;
  std::string_view cpus;  // kernel list; "" for one that shares
};

// Policy static with CPUs 0-1 reserved. Neighbours in the list with the same pod are one pod.
PlanReport report_of(const Topology& topology, const std::vector<Given>& given);

// `count` pods of `size` CPUs each, from CPU 2 on.
PlanReport crowded(const Topology& topology, int count, int size);

}  // namespace corehold
