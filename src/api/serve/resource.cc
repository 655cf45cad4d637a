// SPDX-License-Identifier: Apache-2.0
#include "api/serve/resource.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "base/check.h"

namespace corehold {
namespace {

namespace json = boost::json;
using Word = std::string_view;

constexpr std::array<Word, 3> kReadVerbs{"get", "list", "watch"};
constexpr std::array<Word, 5> kNodeVerbs{"get", "list", "patch", "update", "watch"};
constexpr std::array<Word, 7> kPodVerbs{"create", "delete", "get",  "list",
                                        "patch",  "update", "watch"};
constexpr std::array<Word, 3> kPartVerbs{"get", "patch", "update"};
constexpr std::array<Word, 1> kLogVerbs{"get"};
constexpr std::array<Word, 1> kPodCategories{"all"};

constexpr std::array<SubresourceInfo, 1> kNodeParts{{{"status", "Node", kPartVerbs}}};
constexpr std::array<SubresourceInfo, 3> kPodParts{
    {{"log", "Pod", kLogVerbs}, {"resize", "Pod", kPartVerbs}, {"status", "Pod", kPartVerbs}}};

constexpr std::array<Word, 13> kEventFields{"metadata.name",
                                            "metadata.namespace",
                                            "involvedObject.kind",
                                            "involvedObject.namespace",
                                            "involvedObject.name",
                                            "involvedObject.uid",
                                            "involvedObject.apiVersion",
                                            "involvedObject.resourceVersion",
                                            "involvedObject.fieldPath",
                                            "reason",
                                            "reportingComponent",
                                            "source",
                                            "type"};
constexpr std::array<Word, 2> kNamespaceFields{"metadata.name", "status.phase"};
constexpr std::array<Word, 2> kNodeFields{"metadata.name", "spec.unschedulable"};
constexpr std::array<Word, 11> kPodFields{"metadata.name",
                                          "metadata.namespace",
                                          "spec.nodeName",
                                          "spec.restartPolicy",
                                          "spec.schedulerName",
                                          "spec.serviceAccountName",
                                          "spec.hostNetwork",
                                          "status.phase",
                                          "status.podIP",
                                          "status.podIPs",
                                          "status.nominatedNodeName"};

constexpr std::array<ResourceInfo, 4> kServed{{
    {.resource = Resource::kEvents,
     .name = "events",
     .singular = "event",
     .kind = "Event",
     .short_name = "ev",
     .namespaced = true,
     .verbs = kReadVerbs,
     .field_labels = kEventFields},
    {.resource = Resource::kNamespaces,
     .name = "namespaces",
     .singular = "namespace",
     .kind = "Namespace",
     .short_name = "ns",
     .verbs = kReadVerbs,
     .field_labels = kNamespaceFields},
    {.resource = Resource::kNodes,
     .name = "nodes",
     .singular = "node",
     .kind = "Node",
     .short_name = "no",
     .verbs = kNodeVerbs,
     .subresources = kNodeParts,
     .field_labels = kNodeFields},
    {.resource = Resource::kPods,
     .name = "pods",
     .singular = "pod",
     .kind = "Pod",
     .short_name = "po",
     .categories = kPodCategories,
     .namespaced = true,
     .verbs = kPodVerbs,
     .subresources = kPodParts,
     .field_labels = kPodFields},
}};

json::object empty_node_status() {
  json::object info;
  for (const Word name :
       {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
        "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"}) {
    info[name] = "";
  }
  return {{"daemonEndpoints", json::object{{"kubeletEndpoint", json::object{{"Port", 0}}}}},
          {"nodeInfo", std::move(info)}};
}

void add_empty_event(json::object& object) {
  object["involvedObject"] = json::object();
  object["source"] = json::object();
  object["firstTimestamp"] = nullptr;
  object["lastTimestamp"] = nullptr;
  object["eventTime"] = nullptr;
  object["reportingComponent"] = "";
  object["reportingInstance"] = "";
}

}  // namespace

std::span<const ResourceInfo> served_resources() { return kServed; }

const ResourceInfo& info_of(Resource resource) {
  const auto* const found =
      std::find_if(kServed.begin(), kServed.end(),
                   [&](const ResourceInfo& info) { return info.resource == resource; });
  CHECK(found != kServed.end());
  return *found;
}

std::optional<Resource> resource_named(std::string_view name) {
  for (const ResourceInfo& info : kServed) {
    if (info.name == name) return info.resource;
  }
  return std::nullopt;
}

json::object empty_object(Resource resource) {
  json::object object{
      {"kind", info_of(resource).kind}, {"apiVersion", "v1"}, {"metadata", json::object()}};
  if (resource == Resource::kEvents) {
    add_empty_event(object);
    return object;
  }
  object["spec"] = json::object();
  object["status"] = json::object();
  if (resource == Resource::kNodes) object["status"] = empty_node_status();
  if (resource == Resource::kPods) object["spec"] = json::object{{"containers", nullptr}};
  return object;
}

}  // namespace corehold
