// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "api/time_text.h"
#include "cli/node_render.h"
#include "cli/output.h"
#include "cli/plan_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

std::string age_of(milliseconds since, milliseconds now) {
  return since.count() == 0 ? "-" : age_text(now - since);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : on_one_line(text); }

std::string cpus_of(const PodSummary& pod, const std::map<std::string, CpuSet>& held) {
  const auto own = held.find(pod.uid);
  if (own != held.end()) return shown(own->second);
  return pod.phase == "Running" ? "shared" : "-";
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// "pod/db/pg-0", "node/box".
std::string object_of(const EventView& event) {
  const std::string scope = event.namespace_name.empty() ? "" : event.namespace_name + "/";
  return on_one_line(fmt::format("{}/{}{}", lower(event.kind), scope, event.name));
}

}  // namespace

std::string render_pods_table(std::vector<PodSummary> pods, const CpuMap& map, milliseconds now) {
  std::sort(pods.begin(), pods.end(), [](const PodSummary& a, const PodSummary& b) {
    return std::tie(a.namespace_name, a.name, a.uid) < std::tie(b.namespace_name, b.name, b.uid);
  });
  std::map<std::string, CpuSet> held;  // by UID
  for (const CpuHolder& holder : map.containers) held[holder.uid] |= holder.assigned;
  std::vector<Row> rows{{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "CPUS", "AGE"}};
  for (const PodSummary& pod : pods) {
    rows.push_back({on_one_line(pod.namespace_name), on_one_line(pod.name),
                    fmt::format("{}/{}", pod.ready, pod.containers), or_dash(pod.status),
                    std::to_string(pod.restarts), cpus_of(pod, held), age_of(pod.created_at, now)});
  }
  return align(rows, rows.front().size());
}

std::string render_nodes_table(const std::vector<NodeSummary>& nodes, milliseconds now) {
  std::vector<Row> rows{
      {"NAME", "STATUS", "CPUS", "ALLOCATABLE", "POLICY", "CONFINEMENT", "VERSION", "AGE"}};
  std::string notes;
  for (const NodeSummary& node : nodes) {
    rows.push_back({or_dash(node.name), or_dash(node.status), or_dash(node.cpus),
                    or_dash(node.allocatable), or_dash(node.policy), or_dash(node.confinement),
                    or_dash(node.version), age_of(node.created_at, now)});
    if (!node.note.empty()) notes += fmt::format("\nnote  {}\n", on_one_line(node.note));
  }
  return align(rows, rows.front().size()) + notes;
}

std::string render_events_table(std::vector<EventView> events, milliseconds now) {
  std::stable_sort(events.begin(), events.end(), [](const EventView& a, const EventView& b) {
    return std::tie(a.last_at, a.resource_version) < std::tie(b.last_at, b.resource_version);
  });
  std::vector<Row> rows{{"LAST", "TYPE", "REASON", "OBJECT", "MESSAGE"}};
  for (const EventView& event : events) {
    const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
    rows.push_back({age_of(event.last_at, now), or_dash(event.type), or_dash(event.reason),
                    object_of(event), on_one_line(event.message) + times});
  }
  return align(rows, rows.front().size());
}

}  // namespace corehold
