// SPDX-License-Identifier: Apache-2.0
//
// The metrics that are computed at each scrape: from the node, and from what the kernel
// says of this process.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "agent/node/node_facts.h"
#include "manager/node_state.h"

namespace corehold {

// Every series is always there: a resource that no container holds is 0. Only figures of the
// process that cannot be read are missing.
std::vector<prometheus::MetricFamily> metric_gauges(const NodeState& node, const NodeFacts& facts);

}  // namespace corehold
