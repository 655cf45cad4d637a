// SPDX-License-Identifier: Apache-2.0
//
// What a node says about itself, as text for people: CPUs, pods, the node, events. Pure:
// the same answer at the same time gives the same bytes. Names come from others and are
// shown with control characters escaped.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "api/cpu_map.h"
#include "api/event_object.h"
#include "api/node_object.h"
#include "api/pod_summary.h"
#include "cli/topology_svg.h"

namespace corehold {

// `now` is milliseconds since the Unix epoch.

// The machine, the sets and a row for every container with CPUs of its own.
std::string render_cpus_table(const CpuMap& map, std::chrono::milliseconds now);

// A colour for every container that holds CPUs.
Paint cpus_paint(const CpuMap& map);

// A row a pod, by namespace and name. CPUs are those of `map` that its containers hold,
// "shared" where it has none of its own and "-" where it does not run.
std::string render_pods_table(std::vector<PodSummary> pods, const CpuMap& map,
                              std::chrono::milliseconds now);

std::string render_nodes_table(const std::vector<NodeSummary>& nodes,
                               std::chrono::milliseconds now);

// A row an event, the latest last.
std::string render_events_table(std::vector<EventView> events, std::chrono::milliseconds now);

}  // namespace corehold
