// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "plan/bytes_text.h"

namespace corehold {
namespace {

void add_spread(std::vector<std::string>& parts, const Spread& spread, std::string_view one,
                std::string_view many) {
  if (spread.is_one()) {
    parts.emplace_back(one);
  } else if (spread.is_best()) {
    parts.push_back(fmt::format("{} {}", spread.touched, many));
  } else {
    parts.push_back(fmt::format("{} {} ({} would do)", spread.touched, many, spread.fewest));
  }
}

}  // namespace

std::string shown(const CpuSet& cpus) { return cpus.empty() ? "-" : cpus.str(); }
std::string shown(const NodeSet& nodes) { return nodes.empty() ? "-" : nodes.str(); }

std::string policy_line(const PlanReport& report) {
  std::string line = report.policy;
  for (const std::string& option : report.options) line += ", " + option;
  return line;
}

std::string topology_line(const TopologyOptions& options) {
  std::string line(name_of(options.policy));
  if (options.policy == TopologyPolicy::kNone) return line;
  fmt::format_to(std::back_inserter(line), ", scope {}", name_of(options.scope));
  if (options.prefer_closest_numa) line += ", prefer-closest-numa-nodes";
  return line;
}

std::string_view name_of(Container::Kind kind) {
  switch (kind) {
    case Container::Kind::kApp:
      return "app";
    case Container::Kind::kInit:
      return "init";
    case Container::Kind::kSidecar:
      return "sidecar";
  }
  check_failed("every Container::Kind has a name", __FILE__, __LINE__);
}

std::string container_name(const PlannedContainer& container) {
  std::string name = on_one_line(container.name);
  if (container.kind == Container::Kind::kApp) return name;
  return fmt::format("{} ({})", name, name_of(container.kind));
}

std::string memory_text(const PlannedContainer& container) {
  std::vector<std::string> parts;
  for (const auto& [resource, bytes] : container.memory) {
    std::string part = fmt::format("{} {}", bytes_text(bytes), resource);
    parts.insert(resource == kMemory ? parts.begin() : parts.end(), std::move(part));
  }
  if (parts.empty()) return "-";
  if (container.memory.size() == 1 && container.memory.contains(std::string(kMemory))) {
    parts.front() = bytes_text(container.memory.begin()->second);
  }
  return fmt::format("{} in NUMA {}", fmt::join(parts, " + "), container.memory_nodes.str());
}

std::string devices_text(const PlannedContainer& container) {
  std::vector<std::string> ids;
  for (const auto& [resource, own] : container.devices) {
    for (const std::string& id : own) ids.push_back(on_one_line(id));
  }
  return ids.empty() ? "-" : fmt::format("{}", fmt::join(ids, ","));
}

std::string summarize(const Topology& topology, const Fit& fit) {
  std::vector<std::string> parts;
  if (fit.is_whole_cores()) {
    parts.emplace_back("core");
  } else {
    parts.push_back(
        fmt::format("{} core{} split", fit.split_cores, fit.split_cores == 1 ? "" : "s"));
  }
  if (!topology.l3_caches().empty()) add_spread(parts, fit.caches, "L3", "L3");
  add_spread(parts, fit.nodes, "NUMA", "NUMA");
  add_spread(parts, fit.sockets, "socket", "sockets");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace corehold
