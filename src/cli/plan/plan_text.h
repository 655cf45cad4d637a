// SPDX-License-Identifier: Apache-2.0
//
// The words that the renderings of a plan have in common. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/plan/plan_render.h"
#include "plan/plan_report.h"

namespace corehold {

// "2-5", or "-" for nothing.
std::string shown(const CpuSet& cpus);
std::string shown(const NodeSet& nodes);

// "static, full-pcpus-only".
std::string policy_line(const PlanReport& report);
// "restricted, scope pod, prefer-closest-numa-nodes".
std::string topology_line(const TopologyOptions& options);

// "app", "init", "sidecar".
std::string_view name_of(Container::Kind kind);
// "main", "setup (init)".
std::string container_name(const PlannedContainer& container);

// "4Gi in NUMA 0", "4Gi memory + 8Gi hugepages-1Gi in NUMA 1"; "-" for none.
std::string memory_text(const PlannedContainer& container);
// "nic-0,nic-1"; "-" for none.
std::string devices_text(const PlannedContainer& container);

// A pod's refusal in two columns. REQUIRES: there is one.
std::string refusal_text(const PlannedPod& pod);

// What a resize would change, or why it is refused and who would have to leave.
std::string resize_text(const PlanPage& page, const PlannedResize& resize);
// "2 resizes, 1 accepted, 1 refused".
std::string resizes_line(const PlanReport& report);

// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace corehold
