// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"
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

bool lists_all(const HintsShown& shown) {
  return shown.count == shown.hints.size() && !shown.at_least;
}

// "NUMA 0 (preferred), NUMA 1 (preferred), NUMA 0-1"; of many the first few.
std::string hints_text(const HintsShown& shown) {
  if (shown.indifferent) return "anywhere";
  if (shown.count == 0) return "nowhere";
  const bool all = lists_all(shown);
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

// Why nodes that somebody prefers are not the merged ones: "memory does not prefer it".
std::string lost_because(const TopologyOptions& options, const AlignmentShown& alignment,
                         const NodeSet& nodes) {
  std::vector<std::string> against;
  for (const HintsShown& shown : alignment.resources) {
    if (shown.indifferent) continue;
    const bool agrees = std::any_of(shown.hints.begin(), shown.hints.end(), [&](const Hint& hint) {
      return hint.preferred && hint.nodes && *hint.nodes == nodes;
    });
    if (!agrees) against.push_back(on_one_line(shown.resource));
  }
  if (!against.empty()) return fmt::format("not preferred by {}", fmt::join(against, ", "));
  const NodeSet& chosen = *alignment.merged.hint.nodes;
  if (nodes.size() > chosen.size()) return "wider";
  const bool is_higher = nodes.word() > chosen.word();
  if (!options.prefer_closest_numa || nodes.size() == 1) return "as good, but higher-numbered";
  return is_higher ? "farther apart or higher-numbered" : "farther apart";
}

// Other nodes that some resource prefers, where all hints are known.
std::string losers_text(const TopologyOptions& options, const AlignmentShown& alignment) {
  const Merged& merged = alignment.merged;
  if (!merged.admit || !merged.hint.nodes || !merged.hint.preferred) return "";
  std::vector<NodeSet> others;
  for (const HintsShown& shown : alignment.resources) {
    if (!shown.indifferent && !lists_all(shown)) return "";
    for (const Hint& hint : shown.hints) {
      if (!hint.preferred || !hint.nodes || *hint.nodes == *merged.hint.nodes) continue;
      if (std::find(others.begin(), others.end(), *hint.nodes) == others.end()) {
        others.push_back(*hint.nodes);
      }
    }
  }
  std::vector<std::string> parts;
  for (const NodeSet& nodes : others) {
    if (parts.size() == kHintsOfMany) {
      parts.push_back(fmt::format("and {} more", others.size() - kHintsOfMany));
      break;
    }
    parts.push_back(
        fmt::format("NUMA {} ({})", nodes.str(), lost_because(options, alignment, nodes)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
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
  const std::string losers = losers_text(options, alignment);
  if (!losers.empty()) rows.push_back({"instead of", losers});
  rows.push_back({"verdict", verdict_text(options, alignment.merged)});
}

bool has_option(const PlanReport& report, std::string_view option) {
  return std::find(report.options.begin(), report.options.end(), option) != report.options.end();
}

// Near CPUs are taken first.
std::string pool_text(const PlannedContainer& container) {
  if (!container.affinity) return "from all candidates";
  const int here = container.granted.count_common(container.near);
  if (here == container.granted.size()) return "all from near";
  return fmt::format("{} from near, {} from the other candidates", here,
                     container.granted.size() - here);
}

// How CPUs are taken out of a pool, by the options.
std::string order_text(const PlanReport& report) {
  const char* packed =
      "packed: whole sockets, NUMA nodes and cores where it fills them, then "
      "what has the fewest CPUs free, lowest first";
  std::vector<std::string> parts;
  if (has_option(report, "distribute-cpus-across-numa")) {
    parts.emplace_back("spread evenly where one NUMA node does not do");
  }
  if (has_option(report, "distribute-cpus-across-cores")) {
    parts.emplace_back("spread over cores, one CPU of each first");
  } else {
    parts.emplace_back(packed);
  }
  if (has_option(report, "prefer-align-cpus-by-uncorecache")) {
    parts.emplace_back("few L3 caches before few cores");
  }
  if (has_option(report, "full-pcpus-only")) parts.emplace_back("whole cores only");
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add_pools(std::vector<Row>& rows, const PlanPage& page, const PlannedContainer& container) {
  rows.push_back(
      {"candidates",
       fmt::format("{}, {}", shown(container.candidates),
                   counted(static_cast<std::size_t>(container.candidates.size()), "CPU"))});
  if (!container.affinity) return;
  const bool by_socket = has_option(page.report, "align-by-socket");
  rows.push_back(
      {"near", fmt::format("{}, {} of them in {}{}", shown(container.near), container.near.size(),
                           by_socket ? "the sockets of " : "", nodes_text(container.affinity))});
}

std::string why_refused(const PlannedPod& pod) {
  if (!pod.refusal) return "";
  const PlannedRefusal& refusal = *pod.refusal;
  return ": " + on_one_line(refusal.missing.empty() ? refusal.text : refusal.missing);
}

// What came of the request, once the topology manager has said its word.
void add_choice(std::vector<Row>& rows, const PlanPage& page, const PlannedPod& pod,
                const PlannedContainer& container) {
  if (container.cpus_asked > 0) add_pools(rows, page, container);
  if (!container.granted.empty()) {
    rows.push_back(
        {"choice", fmt::format("{}, {}: {}", container.granted.str(),
                               counted(static_cast<std::size_t>(container.granted.size()), "CPU"),
                               summarize(page.topology, container.fit))});
    rows.push_back(
        {"because", fmt::format("{}; {}", pool_text(container), order_text(page.report))});
  } else if (container.cpus_asked == 0) {
    rows.push_back({"choice", "the shared CPUs"});
  } else {
    rows.push_back({"choice", "none" + why_refused(pod)});
  }
  if (!container.memory.empty()) rows.push_back({"memory", memory_text(container)});
  if (!container.devices.empty()) rows.push_back({"devices", devices_text(container)});
}

std::string container_text(const PlanPage& page, const PlannedPod& pod,
                           const PlannedContainer& container) {
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
    add_choice(rows, page, pod, container);
  } else {
    rows.push_back({"choice", container.alignment ? "none: its NUMA nodes are refused"
                                                  : "none: its turn never came"});
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
    text += "\n" + container_text(page, pod, container);
  }
  if (pod.refusal) text += "\n" + refusal_text(pod);
  return text;
}

}  // namespace corehold
