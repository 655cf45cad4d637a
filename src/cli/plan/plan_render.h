// SPDX-License-Identifier: Apache-2.0
//
// A plan as text for people, as JSON for programs and as colours for the picture of the
// machine. Pure: the same plan gives the same bytes. Names that come from files are
// shown with control characters escaped.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/topology_svg.h"
#include "plan/plan_report.h"
#include "topology/topology.h"

namespace corehold {

// A plan and what surrounds it. The referred must outlive it.
struct PlanPage {
  const Topology& topology;
  const PlanReport& report;
  std::vector<std::string> notes{};  // what the reader should know about the input
};

// The machine and what is left of it, a row per container in order of admission, and a
// block for every pod refused.
std::string render_plan_table(const PlanPage& page);

// One JSON object as docs/plan.md describes it. With `explain`, a pod of the report, the
// whole chain of decisions for that pod too.
std::string render_plan_json(const PlanPage& page, const PlannedPod* explain = nullptr);

// A colour for every container that holds CPUs.
Paint plan_paint(const PlanPage& page);

// How the decision about one pod came about: QoS class, hints of each resource, the
// merged hint, candidates, the choice or the refusal.
std::string render_explanation(const PlanPage& page, const PlannedPod& pod);

// Where CPUs lie, in short: "core, L3, 2 NUMA, socket" for whole cores of one L3 cache
// but two NUMA nodes, where no fewer would do.
std::string summarize(const Topology& topology, const Fit& fit);

}  // namespace corehold
