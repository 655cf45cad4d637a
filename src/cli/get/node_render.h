// SPDX-License-Identifier: Apache-2.0
//
// What a node says about itself, as text for people: CPUs, pods, the node, events. Pure:
// the same answer at the same time gives the same bytes. Names come from others and are
// shown with control characters escaped.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/node/event_object.h"
#include "api/node/node_object.h"
#include "api/own/cpu_map.h"
#include "api/pod/pod_summary.h"
#include "cli/draw/topology_svg.h"
#include "cli/plan/set_rows.h"
#include "cli/text_table.h"

namespace corehold {

// `now` is milliseconds since the Unix epoch.

enum class Detail { kUsual, kWide };

// The machine, the sets and a row for every container with CPUs of its own; wide also how
// these lie and the grid (cpu_grid.h). Of `rows`, where given, instead of all.
std::string render_cpus_table(const CpuMap& map, std::chrono::milliseconds now,
                              Detail detail = Detail::kUsual);
std::string render_cpus_table(const CpuMap& map, const std::vector<CpuHolder>& rows,
                              std::chrono::milliseconds now, Detail detail);

// A colour for every container of the map; CPUs that are neither theirs nor shared,
// reserved or offline are somebody else's.
Paint cpus_paint(const CpuMap& map);

// Which CPUs are reserved, shared, exclusive and, if there are any, offline.
std::vector<SetLine> pool_lines(const CpuMap& map);
// How long ago that was: "3h"; "-" for what is not known.
std::string age_or_dash(std::chrono::milliseconds since, std::chrono::milliseconds now);
// What is left of the delay of a shrink; no value: there is none, or it has not begun. As text
// "4s", the last second begun counted, and tenths of one below that: "0.4s".
std::optional<std::chrono::milliseconds> delay_left(const CpuHolder& holder,
                                                    std::chrono::milliseconds now);
std::string left_text(std::chrono::milliseconds left);
// "2-3 in 4s", "2-3", "-".
std::string pending_text(const CpuHolder& holder, std::chrono::milliseconds now);
// How the CPUs of a container lie on the machine: "core, L3, NUMA, socket".
std::string alignment_text(const CpuMap& map, const CpuSet& cpus);

// A row a pod, by namespace and name. CPUs are those of `map` that its containers hold,
// "shared" where it has none of its own and "-" where it does not run.
std::string render_pods_table(std::vector<PodSummary> pods, const CpuMap& map,
                              std::chrono::milliseconds now, Detail detail = Detail::kUsual);

std::string render_nodes_table(const std::vector<NodeSummary>& nodes, std::chrono::milliseconds now,
                               Detail detail = Detail::kUsual);

// A row an event, the latest last.
std::string render_events_table(std::vector<EventView> events, std::chrono::milliseconds now,
                                Detail detail = Detail::kUsual);

// The same row by row, and their heads, for tables that grow.
Row pods_head(Detail detail);
Row pod_row(const PodSummary& pod, const CpuMap& map, std::chrono::milliseconds now, Detail detail);
Row nodes_head(Detail detail);
Row node_row(const NodeSummary& node, std::chrono::milliseconds now, Detail detail);
Row events_head(Detail detail);
Row event_row(const EventView& event, std::chrono::milliseconds now, Detail detail);

}  // namespace corehold
