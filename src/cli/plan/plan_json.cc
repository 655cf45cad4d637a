// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::value list_or_null(const std::optional<NodeSet>& nodes) {
  return nodes ? json::value(nodes->str()) : json::value(nullptr);
}

json::object spread_json(const Spread& spread) {
  return {{"touched", spread.touched}, {"fewest", spread.fewest}};
}

json::object fit_json(const Topology& topology, const Fit& fit) {
  json::object object{{"summary", summarize(topology, fit)},
                      {"splitCores", fit.split_cores},
                      {"cores", spread_json(fit.cores)}};
  if (!topology.l3_caches().empty()) object["l3Caches"] = spread_json(fit.caches);
  object["numaNodes"] = spread_json(fit.nodes);
  object["sockets"] = spread_json(fit.sockets);
  return object;
}

json::object memory_json(const NodeMemory& memory) {
  json::object object;
  for (const auto& [resource, bytes] : memory) object[resource] = bytes;
  return object;
}

json::object devices_json(const std::map<std::string, std::vector<std::string>>& devices) {
  json::object object;
  for (const auto& [resource, ids] : devices) {
    object[resource] = json::array(ids.begin(), ids.end());
  }
  return object;
}

// What a refused pod would have got on the way is not its own.
json::object container_json(const PlanPage& page, const PlannedPod& pod,
                            const PlannedContainer& container) {
  json::object object{{"name", container.name},
                      {"kind", name_of(container.kind)},
                      {"cpuRequest", container.cpu_request},
                      {"exclusiveCPUs", container.cpus_asked},
                      {"assigned", ""},
                      {"promised", ""},
                      {"numaNodes", ""}};
  if (pod.refusal) return object;
  object["assigned"] = container.granted.str();
  object["promised"] = container.promised.str();
  object["numaNodes"] = container.nodes.str();
  if (!container.granted.empty()) object["alignment"] = fit_json(page.topology, container.fit);
  if (!container.memory.empty()) {
    object["memory"] = memory_json(container.memory);
    object["memoryNodes"] = container.memory_nodes.str();
  }
  if (!container.devices.empty()) object["devices"] = devices_json(container.devices);
  return object;
}

json::array holders_json(const std::vector<Holder>& holders) {
  json::array list;
  for (const Holder& holder : holders) {
    list.push_back({{"pod", holder.pod},
                    {"container", holder.container},
                    {"resource", holder.resource},
                    {"holds", holder.what}});
  }
  return list;
}

json::object refusal_json(const PlannedRefusal& refusal) {
  return {{"reason", refusal.reason},
          {"container", refusal.container},
          {"text", refusal.text},
          {"message", refusal.message},
          {"rule", refusal.rule},
          {"missing", refusal.missing},
          {"fitsEmptyNode", refusal.fits_empty},
          {"holders", holders_json(refusal.holders)}};
}

json::object pod_json(const PlanPage& page, const PlannedPod& pod) {
  json::object object{{"index", pod.index},
                      {"pod", pod.name},
                      {"uid", pod.uid},
                      {"qosClass", name_of(pod.qos)},
                      {"admitted", !pod.refusal.has_value()}};
  json::array containers;
  for (const PlannedContainer& container : pod.containers) {
    containers.push_back(container_json(page, pod, container));
  }
  object["containers"] = std::move(containers);
  if (pod.refusal) object["refusal"] = refusal_json(*pod.refusal);
  return object;
}

json::object resized_json(const PlanPage& page, const ResizedContainer& container) {
  json::object waits_for;
  for (const auto& [name, cpus] : container.waits_for) waits_for[name] = cpus.str();
  json::object object{{"name", container.name},
                      {"kind", name_of(container.kind)},
                      {"cpuRequestBefore", container.cpu_before},
                      {"cpuRequestAfter", container.cpu_after},
                      {"promised", container.promised.str()},
                      {"before", container.before.str()},
                      {"after", container.after.str()},
                      {"kept", container.kept().str()},
                      {"added", container.added().str()},
                      {"givenUp", container.given_up().str()},
                      {"waitsFor", std::move(waits_for)}};
  if (!container.after.empty()) object["alignment"] = fit_json(page.topology, container.fit);
  return object;
}

json::object resize_json(const PlanPage& page, const PlannedResize& resize) {
  json::array containers;
  for (const ResizedContainer& container : resize.containers) {
    containers.push_back(resized_json(page, container));
  }
  json::object object{{"pod", resize.pod},
                      {"verdict", name_of(resize.verdict)},
                      {"containers", std::move(containers)}};
  if (resize.refusal) {
    object["refusal"] = {{"error", resize.refusal->error},
                         {"container", resize.refusal->container},
                         {"text", resize.refusal->text},
                         {"message", resize.refusal->message},
                         {"mustLeave", holders_json(resize.leave)}};
  }
  return object;
}

json::object hint_json(const Hint& hint) {
  return {{"numaNodes", list_or_null(hint.nodes)}, {"preferred", hint.preferred}};
}

json::object alignment_json(const AlignmentShown& alignment) {
  json::array resources;
  for (const HintsShown& shown : alignment.resources) {
    json::array hints;
    for (const Hint& hint : shown.hints) hints.push_back(hint_json(hint));
    resources.push_back({{"resource", shown.resource},
                         {"anywhere", shown.indifferent},
                         {"count", shown.count},
                         {"counted", !shown.at_least},
                         {"narrowest", shown.narrowest},
                         {"hints", std::move(hints)}});
  }
  return {{"hints", std::move(resources)},
          {"merged", hint_json(alignment.merged.hint)},
          {"admit", alignment.merged.admit},
          {"exact", alignment.merged.exact}};
}

json::object explain_json(const PlannedPod& pod) {
  json::object object{{"pod", pod.name}, {"qosReason", pod.qos_reason}};
  if (pod.alignment) object["topology"] = alignment_json(*pod.alignment);
  json::array containers;
  for (const PlannedContainer& container : pod.containers) {
    json::object entry{{"name", container.name}, {"entitlement", container.entitlement}};
    if (container.alignment) entry["topology"] = alignment_json(*container.alignment);
    if (container.is_decided) {
      entry["affinity"] = list_or_null(container.affinity);
      entry["candidates"] = container.candidates.str();
      entry["near"] = container.near.str();
      entry["assigned"] = container.granted.str();
    }
    containers.push_back(std::move(entry));
  }
  object["containers"] = std::move(containers);
  return object;
}

json::object machine_json(const Topology& topology) {
  return {{"sockets", topology.sockets().size()},
          {"numaNodes",
           topology.nodes().size() + static_cast<std::size_t>(topology.memory_nodes().size())},
          {"l3Caches", topology.l3_caches().size()},
          {"cores", topology.cores().size()},
          {"cpus", topology.cpus().str()}};
}

json::object policy_json(const PlanReport& report) {
  const TopologyOptions& options = report.topology_options;
  return {{"name", report.policy},
          {"options", json::array(report.options.begin(), report.options.end())},
          {"topologyPolicy", name_of(options.policy)},
          {"topologyScope", name_of(options.scope)},
          {"preferClosestNumaNodes", options.prefer_closest_numa}};
}

}  // namespace

std::string render_plan_json(const PlanPage& page, const PlannedPod* explain) {
  const PlanReport& report = page.report;
  json::array pods;
  CpuSet exclusive;
  std::size_t refused = 0;
  for (const Owner& owner : owners(report)) exclusive |= owner.container->granted;
  for (const PlannedPod& pod : report.pods) {
    refused += pod.refusal ? 1U : 0U;
    pods.push_back(pod_json(page, pod));
  }
  json::object root{{"machine", machine_json(page.topology)},
                    {"policy", policy_json(report)},
                    {"reserved", report.reserved.str()},
                    {"shared", report.shared.str()},
                    {"free", report.free.str()},
                    {"freeCount", report.free_count},
                    {"exclusive", exclusive.str()},
                    {"admitted", report.pods.size() - refused},
                    {"refused", refused},
                    {"requestedMilliCPU", report.requested_milli},
                    {"allocatableMilliCPU", report.allocatable_milli},
                    {"notes", json::array(page.notes.begin(), page.notes.end())},
                    {"pods", std::move(pods)}};
  if (!report.resizes.empty()) {
    json::array resizes;
    for (const PlannedResize& resize : report.resizes) {
      resizes.push_back(resize_json(page, resize));
    }
    root["resizes"] = std::move(resizes);
  }
  if (explain != nullptr) root["explain"] = explain_json(*explain);
  return json_text(root);
}

}  // namespace corehold
