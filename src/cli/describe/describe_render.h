// SPDX-License-Identifier: Apache-2.0
//
// All there is to say about one pod or the node, as text for people. Pure: the same
// answers at the same time give the same bytes. Names come from others and are shown with
// control characters escaped.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/node/event_object.h"
#include "api/own/cpu_map.h"
#include "base/result.h"

namespace corehold {

// A Pod, the map of its node and its events. `now` is since the Unix epoch.
struct PodPage {
  const boost::json::object& pod;
  const CpuMap& map;
  std::vector<EventView> events{};
  std::chrono::milliseconds now{};
};

// Of each container what it asks for, has (assigned, promised, pending), how that lies on
// the machine, and why it is so; conditions; events. Fails with kInvalid for what is no Pod.
Result<std::string> render_pod_page(const PodPage& page);

// A Node, its map, its Pods and its own events.
struct NodePage {
  const boost::json::object& node;
  const CpuMap& map;
  const boost::json::array& pods;
  std::vector<EventView> events{};
  std::chrono::milliseconds now{};
};

// How it is set up, its pools with the grid, who holds CPUs, pods, conditions, events. Fails
// with kInvalid for what is no Node.
Result<std::string> render_node_page(const NodePage& page);

}  // namespace corehold
