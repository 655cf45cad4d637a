// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/plan_render.h"
#include "cli/plan_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

// So many hints are worth reading where there are too many to read them all.
constexpr std::size_t kHintsOfMany = 4;

std::string nodes_text(const std::optional<NodeSet>& nodes) {
  if (!nodes) return "any NUMA node";
  return nodes->empty() ? "no NUMA node" : "NUMA " + nodes->str();
}

std::string hint_text(const Hint& hint) {
  return nodes_text(hint.nodes) + (hint.preferred ? " (preferred)" : "");
}

// "NUMA 0 (preferred), NUMA 1 (preferred), NUMA 0-1"; of many the first few.
std::string hints_text(const HintsShown& shown) {
  if (shown.indifferent) return "anywhere";
  if (shown.count == 0) return "nowhere";
  const bool all = shown.count == shown.hints.size() && !shown.at_least;
  std::vector<std::string> parts;
  for (const Hint& hint : shown.hints) {
    if (!all && parts.size() == kHintsOfMany) break;
    parts.push_back(hint_text(hint));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (all) return text;
  return fmt::format("{}, ... of {}{} hints, the narrowest of {}", text,
                     shown.at_least ? "more than " : "", shown.count,
                     counted(static_cast<std::size_t>(shown.narrowest), "NUMA node"));
}

std::string verdict_text(const TopologyOptions& options, const Merged& merged) {
  return fmt::format("{} {}{}", name_of(options.policy), merged.admit ? "admits it" : "refuses it",
                     merged.exact ? "" : "; the search was cut short, a better hint may exist");
}

void add_alignment(std::vector<Row>& rows, const TopologyOptions& options,
                   const AlignmentShown& alignment) {
  const char* label = "hints";
  std::size_t width = 0;
  for (const HintsShown& shown : alignment.resources) {
    width = std::max(width, on_one_line(shown.resource).size());
  }
  for (const HintsShown& shown : alignment.resources) {
    rows.push_back(
        {label, fmt::format("{:<{}}  {}", on_one_line(shown.resource), width, hints_text(shown))});
    label = "";
  }
  if (alignment.resources.empty()) rows.push_back({label, "nobody has any"});
  const Merged& merged = alignment.merged;
  rows.push_back({"merged", merged.admit || merged.hint.nodes ? hint_text(merged.hint)
                                                              : "no NUMA nodes suit"});
  rows.push_back({"verdict", verdict_text(options, alignment.merged)});
}

// What came of the request, once the topology manager has said its word.
void add_choice(std::vector<Row>& rows, const PlanPage& page, const PlannedContainer& container) {
  if (container.cpus_asked > 0) {
    rows.push_back(
        {"candidates",
         fmt::format("{}, {}", shown(container.candidates),
                     counted(static_cast<std::size_t>(container.candidates.size()), "CPU"))});
    if (container.affinity) {
      rows.push_back({"near", fmt::format("{}, {} of them in {}", shown(container.near),
                                          container.near.size(), nodes_text(container.affinity))});
    }
  }
  if (!container.granted.empty()) {
    rows.push_back(
        {"choice", fmt::format("{}, {}: {}", container.granted.str(),
                               counted(static_cast<std::size_t>(container.granted.size()), "CPU"),
                               summarize(page.topology, container.fit))});
  } else if (container.cpus_asked == 0) {
    rows.push_back({"choice", "the shared CPUs"});
  }
  if (!container.memory.empty()) rows.push_back({"memory", memory_text(container)});
  if (!container.devices.empty()) rows.push_back({"devices", devices_text(container)});
}

std::string container_text(const PlanPage& page, const PlannedContainer& container) {
  std::vector<Row> rows{{"container", container_name(container)}};
  rows.push_back({"cpu", fmt::format("{}: {}",
                                     container.cpus_asked > 0
                                         ? fmt::format("{} exclusive", container.cpus_asked)
                                         : "shares",
                                     on_one_line(container.entitlement))});
  if (container.alignment) {
    add_alignment(rows, page.report.topology_options, *container.alignment);
  }
  if (container.is_decided) {
    add_choice(rows, page, container);
  } else if (!container.alignment) {
    rows.push_back({"choice", "its turn never came"});
  }
  return align(rows, 2);
}

}  // namespace

std::string render_explanation(const PlanPage& page, const PlannedPod& pod) {
  const TopologyOptions& options = page.report.topology_options;
  std::vector<Row> rows{
      {"pod", on_one_line(pod.name)},
      {"qos", fmt::format("{}: {}", name_of(pod.qos), on_one_line(pod.qos_reason))},
      {"topology", topology_line(options)}};
  if (options.policy == TopologyPolicy::kNone) rows.back()[1] += ": no hints are asked for";
  if (pod.alignment) add_alignment(rows, options, *pod.alignment);
  std::string text = align(rows, 2);
  for (const PlannedContainer& container : pod.containers) {
    text += "\n" + container_text(page, container);
  }
  if (pod.refusal) text += "\n" + refusal_text(pod);
  return text;
}

}  // namespace corehold
