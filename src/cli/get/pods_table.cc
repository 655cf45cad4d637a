// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/plan/plan_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

// "2-5", "2-5 -> 2-3 in 4s" while some are about to leave, "shared" or "-".
std::string cpus_of(const PodSummary& pod, const CpuMap& map, milliseconds now) {
  CpuSet held;
  CpuSet leaving;
  std::optional<milliseconds> left;  // of the first that ends
  for (const CpuHolder& holder : map.containers) {
    if (holder.uid != pod.uid) continue;
    held |= holder.assigned;
    leaving |= holder.leaving();
    const auto own = delay_left(holder, now);
    if (own && (!left || *own < *left)) left = own;
  }
  if (held.empty()) return pod.phase == "Running" ? "shared" : "-";
  if (leaving.empty()) return shown(held);
  return fmt::format("{} -> {}{}", shown(held), shown(held - leaving),
                     left ? " in " + left_text(*left) : "");
}

// A resize that was asked for and is not granted stands behind them.
std::string cpus_text(const PodSummary& pod, const CpuMap& map, milliseconds now) {
  const std::string cpus = cpus_of(pod, map, now);
  return pod.resize.empty() ? cpus : fmt::format("{} (resize {})", cpus, on_one_line(pod.resize));
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

Row pods_head(Detail detail) {
  Row head{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "CPUS", "AGE"};
  if (detail == Detail::kWide) head.insert(head.end(), {"NUMA", "QOS", "NODE"});
  return head;
}

Row pod_row(const PodSummary& pod, const CpuMap& map, milliseconds now, Detail detail) {
  CpuSet held;
  for (const CpuHolder& holder : map.containers) {
    if (holder.uid == pod.uid) held |= holder.assigned;
  }
  Row row{on_one_line(pod.namespace_name),
          on_one_line(pod.name),
          fmt::format("{}/{}", pod.ready, pod.containers),
          or_dash(pod.status),
          std::to_string(pod.restarts),
          cpus_text(pod, map, now),
          age_or_dash(pod.created_at, now)};
  if (detail == Detail::kWide) {
    row.insert(row.end(),
               {shown(map.topology.nodes_of(held)), or_dash(pod.qos), or_dash(pod.node)});
  }
  return row;
}

Row nodes_head(Detail detail) {
  Row head{"NAME", "STATUS", "CPUS", "ALLOCATABLE", "POLICY", "CONFINEMENT", "VERSION", "AGE"};
  if (detail == Detail::kWide) head.insert(head.end(), {"MEMORY", "KERNEL", "ARCHITECTURE"});
  return head;
}

Row node_row(const NodeSummary& node, milliseconds now, Detail detail) {
  Row row{or_dash(node.name),    or_dash(node.status),
          or_dash(node.cpus),    or_dash(node.allocatable),
          or_dash(node.policy),  or_dash(node.confinement),
          or_dash(node.version), age_or_dash(node.created_at, now)};
  if (detail == Detail::kWide) {
    row.insert(row.end(), {or_dash(node.memory), or_dash(node.kernel), or_dash(node.architecture)});
  }
  return row;
}

Row events_head(Detail detail) {
  if (detail == Detail::kUsual) return {"LAST", "TYPE", "REASON", "OBJECT", "MESSAGE"};
  return {"LAST", "FIRST", "COUNT", "TYPE", "REASON", "OBJECT", "CONTAINER", "MESSAGE"};
}

Row event_row(const EventView& event, milliseconds now, Detail detail) {
  if (detail == Detail::kWide) {
    return {age_or_dash(event.last_at, now), age_or_dash(event.first_at, now),
            std::to_string(event.count),     or_dash(event.type),
            or_dash(event.reason),           object_of(event),
            or_dash(event.container),        on_one_line(event.message)};
  }
  const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
  return {age_or_dash(event.last_at, now), or_dash(event.type), or_dash(event.reason),
          object_of(event), on_one_line(event.message) + times};
}

std::string render_pods_table(std::vector<PodSummary> pods, const CpuMap& map, milliseconds now,
                              Detail detail) {
  std::sort(pods.begin(), pods.end(), [](const PodSummary& a, const PodSummary& b) {
    return std::tie(a.namespace_name, a.name, a.uid) < std::tie(b.namespace_name, b.name, b.uid);
  });
  std::vector<Row> rows{pods_head(detail)};
  for (const PodSummary& pod : pods) rows.push_back(pod_row(pod, map, now, detail));
  return align(rows, rows.front().size());
}

std::string render_nodes_table(const std::vector<NodeSummary>& nodes, milliseconds now,
                               Detail detail) {
  std::vector<Row> rows{nodes_head(detail)};
  std::string notes;
  for (const NodeSummary& node : nodes) {
    rows.push_back(node_row(node, now, detail));
    if (!node.note.empty()) notes += fmt::format("\nnote  {}\n", on_one_line(node.note));
  }
  return align(rows, rows.front().size()) + notes;
}

std::string render_events_table(std::vector<EventView> events, milliseconds now, Detail detail) {
  std::stable_sort(events.begin(), events.end(), [](const EventView& a, const EventView& b) {
    return std::tie(a.last_at, a.resource_version) < std::tie(b.last_at, b.resource_version);
  });
  std::vector<Row> rows{events_head(detail)};
  for (const EventView& event : events) rows.push_back(event_row(event, now, detail));
  return align(rows, rows.front().size());
}

}  // namespace corehold
