// SPDX-License-Identifier: Apache-2.0
//
// From what the manager knows to what clients are shown (src/api). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "agent/node/node_facts.h"
#include "api/node/node_object.h"
#include "api/own/cpu_map.h"
#include "api/pod/pod_object.h"
#include "manager/node_state.h"

namespace corehold {

// Null when there is none.
const RunPod* find_pod(const NodeState& node, std::string_view namespace_name,
                       std::string_view name);

boost::json::object pod_json(const RunPod& pod, const PlacedPod& placed, const NodeFacts& facts,
                             std::uint64_t version);

// Countdowns are as of `now`.
CpuMap cpu_map(const NodeState& node, const NodeFacts& facts, const Now& now);

NodeView node_view(const NodeFacts& facts, std::uint64_t version);

}  // namespace corehold
