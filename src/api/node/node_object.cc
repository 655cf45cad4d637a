// SPDX-License-Identifier: Apache-2.0
#include "api/node/node_object.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/json/json_read.h"
#include "api/json/time_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kConfinementAnnotation = "corehold.dev/confinement";
constexpr std::string_view kConfined = "CpusConfined";
constexpr std::string_view kExclusive = "CpusExclusive";

json::object metadata_json(const NodeView& view) {
  json::object metadata{{"name", view.name},
                        {"uid", view.uid.empty() ? view.name : view.uid},
                        {"resourceVersion", fmt::to_string(view.resource_version)},
                        {"creationTimestamp", time_text(view.created_at)}};
  json::object labels{{"kubernetes.io/hostname", view.name}, {"kubernetes.io/os", "linux"}};
  if (!view.architecture.empty()) labels["kubernetes.io/arch"] = view.architecture;
  metadata["labels"] = std::move(labels);
  json::object annotations{{kPolicyAnnotation, view.policy},
                           {kConfinementAnnotation, view.confinement}};
  if (!view.declared_features.empty()) {
    annotations[kFeaturesAnnotation] = fmt::format("{}", fmt::join(view.declared_features, ","));
  }
  metadata["annotations"] = std::move(annotations);
  return metadata;
}

json::object amounts(const NodeView& view, int cpus) {
  json::object list{{"cpu", fmt::to_string(cpus)}};
  if (view.memory > 0) list["memory"] = fmt::format("{}Ki", view.memory / 1024);
  return list;
}

// Affinity holds only until a process changes its own.
bool is_confined(const NodeView& view) { return view.confinement.starts_with("cgroup"); }

json::array conditions_json(const NodeView& view) {
  json::object ready{{"type", "Ready"},
                     {"status", view.ready ? "True" : "False"},
                     {"lastHeartbeatTime", time_text(view.since)},
                     {"lastTransitionTime", time_text(view.since)},
                     {"reason", view.ready ? "AgentReady" : "AgentNotReady"},
                     {"message", view.ready ? "the agent takes pods" : view.message}};
  json::object confined{{"type", kConfined},
                        {"status", is_confined(view) ? "True" : "False"},
                        {"lastHeartbeatTime", time_text(view.since)},
                        {"lastTransitionTime", time_text(view.since)},
                        {"reason", is_confined(view) ? "Cgroup" : "NoCgroup"},
                        {"message", view.note}};
  json::array conditions;
  conditions.push_back(std::move(ready));
  conditions.push_back(std::move(confined));
  if (view.exclusive) {
    conditions.push_back(json::object{{"type", kExclusive},
                                      {"status", view.exclusive->is_so ? "True" : "False"},
                                      {"lastHeartbeatTime", time_text(view.exclusive->since)},
                                      {"lastTransitionTime", time_text(view.exclusive->since)},
                                      {"reason", view.exclusive->reason},
                                      {"message", view.exclusive->message}});
  }
  return conditions;
}

// The condition of that type; null when there is none.
Result<const json::object*> condition(const json::object& status, std::string_view type) {
  const Path path = Path() / "status" / "conditions";
  const json::array* list = TRY(array_field(status, Path() / "status", "conditions"));
  if (list == nullptr) return static_cast<const json::object*>(nullptr);
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::object* object = TRY(as_object((*list)[i], path / i));
    if (TRY(string_field(*object, path / i, "type")) == type) return object;
  }
  return static_cast<const json::object*>(nullptr);
}

Result<std::string> amount(const json::object& status, std::string_view list,
                           std::string_view resource) {
  const json::object* amounts = TRY(object_field(status, Path() / "status", list));
  if (amounts == nullptr) return std::string();
  return TRY(string_field(*amounts, Path() / "status" / list, resource));
}

Result<void> read_metadata(const json::object& object, NodeSummary& summary) {
  const Path path = Path() / "metadata";
  const json::object* metadata = TRY(object_field(object, Path(), "metadata"));
  if (metadata == nullptr) return {};
  summary.name = TRY(string_field(*metadata, path, "name"));
  summary.created_at = TRY(time_field(*metadata, path, "creationTimestamp"));
  const json::object* annotations = TRY(object_field(*metadata, path, "annotations"));
  if (annotations == nullptr) return {};
  summary.policy = TRY(string_field(*annotations, path / "annotations", kPolicyAnnotation));
  summary.confinement =
      TRY(string_field(*annotations, path / "annotations", kConfinementAnnotation));
  return {};
}

}  // namespace

json::object to_json(const NodeView& view) {
  json::array addresses;
  addresses.push_back(json::object{{"type", "InternalIP"}, {"address", "127.0.0.1"}});
  addresses.push_back(json::object{{"type", "Hostname"}, {"address", view.name}});
  json::object info{{"machineID", view.machine_id},
                    {"systemUUID", ""},
                    {"bootID", view.boot_id},
                    {"osImage", view.os_image},
                    {"kubeProxyVersion", ""},
                    {"operatingSystem", "linux"},
                    {"architecture", view.architecture},
                    {"kernelVersion", view.kernel},
                    {"kubeletVersion", "corehold-v" + view.version},
                    {"containerRuntimeVersion", "corehold://" + view.version}};
  json::object status{{"capacity", amounts(view, view.cpus)},
                      {"allocatable", amounts(view, view.cpus - view.reserved_cpus)},
                      {"conditions", conditions_json(view)},
                      {"addresses", std::move(addresses)},
                      {"nodeInfo", std::move(info)}};
  if (!view.declared_features.empty()) {
    status["declaredFeatures"] = json::value_from(view.declared_features);
  }
  return {{"kind", "Node"},
          {"apiVersion", "v1"},
          {"metadata", metadata_json(view)},
          {"spec", json::object()},
          {"status", std::move(status)}};
}

json::object node_list_json(json::array nodes, std::uint64_t resource_version) {
  return {{"kind", "NodeList"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"resourceVersion", fmt::to_string(resource_version)}}},
          {"items", std::move(nodes)}};
}

Result<NodeSummary> node_summary(const json::value& node) {
  const json::object* object = TRY(as_object(node, Path()));
  NodeSummary summary;
  TRY(read_metadata(*object, summary));
  const json::object* status = TRY(object_field(*object, Path(), "status"));
  if (status == nullptr) return summary;
  summary.cpus = TRY(amount(*status, "capacity", "cpu"));
  summary.allocatable = TRY(amount(*status, "allocatable", "cpu"));
  summary.memory = TRY(amount(*status, "capacity", "memory"));
  const Path path = Path() / "status";
  if (const json::object* ready = TRY(condition(*status, "Ready"))) {
    summary.status =
        TRY(string_field(*ready, path / "conditions", "status")) == "True" ? "Ready" : "NotReady";
  }
  if (const json::object* confined = TRY(condition(*status, kConfined))) {
    summary.note = TRY(string_field(*confined, path / "conditions", "message"));
  }
  if (const json::object* exclusive = TRY(condition(*status, kExclusive))) {
    if (TRY(string_field(*exclusive, path / "conditions", "status")) != "True") {
      summary.intruders = TRY(string_field(*exclusive, path / "conditions", "message"));
    }
  }
  if (const json::object* info = TRY(object_field(*status, path, "nodeInfo"))) {
    summary.version = TRY(string_field(*info, path / "nodeInfo", "kubeletVersion"));
    summary.kernel = TRY(string_field(*info, path / "nodeInfo", "kernelVersion"));
    summary.architecture = TRY(string_field(*info, path / "nodeInfo", "architecture"));
  }
  return summary;
}

}  // namespace corehold
