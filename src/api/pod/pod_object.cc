// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_object.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "pod/qos.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using Stage = ContainerView::Stage;

void put_time(json::object& object, std::string_view key, milliseconds time) {
  if (time.count() != 0) object[key] = time_text(time);
}

std::string container_id(const Pod& pod, std::string_view container, int attempt) {
  return fmt::format("corehold://{}/{}/{}", pod.uid, container, attempt);
}

json::object terminated_json(const PodView& view, std::string_view container,
                             const ContainerExit& exit, int attempt) {
  json::object object{{"exitCode", exit.code}};
  if (exit.signal != 0) object["signal"] = exit.signal;
  object["reason"] = reason_of(exit);
  if (!exit.message.empty()) object["message"] = exit.message;
  put_time(object, "startedAt", exit.started_at);
  put_time(object, "finishedAt", exit.finished_at);
  object["containerID"] = container_id(view.pod, container, attempt);
  return {{"terminated", std::move(object)}};
}

json::object state_json(const PodView& view, const ContainerView& own) {
  if (own.stage == Stage::kRunning) {
    json::object running;
    put_time(running, "startedAt", own.started_at);
    return {{"running", std::move(running)}};
  }
  if (own.stage == Stage::kTerminated && own.exit) {
    return terminated_json(view, own.name, *own.exit, own.attempt);
  }
  json::object waiting;
  if (!own.reason.empty()) waiting["reason"] = own.reason;
  if (!own.message.empty()) waiting["message"] = own.message;
  return {{"waiting", std::move(waiting)}};
}

// The image that the caller named for a container; it means nothing to host processes.
std::string image_of(const Pod& pod, std::string_view list, std::string_view container) {
  const auto spec = object_field(pod.raw, Path(), "spec");
  if (!spec || *spec == nullptr) return "";
  const auto containers = array_field(**spec, Path(), list);
  if (!containers || *containers == nullptr) return "";
  for (const json::value& item : **containers) {
    const json::object* object = item.if_object();
    if (object == nullptr) continue;
    const auto name = string_field(*object, Path(), "name");
    if (!name || *name != container) continue;
    const auto image = string_field(*object, Path(), "image");
    return image ? *image : "";
  }
  return "";
}

json::object amounts_json(const ResourceList& amounts) {
  json::object object;
  for (const auto& [resource, amount] : amounts) object[resource] = amount.str();
  return object;
}

json::object resources_json(const Resources& resources) {
  json::object object;
  if (!resources.limits.empty()) object["limits"] = amounts_json(resources.limits);
  if (!resources.requests.empty()) object["requests"] = amounts_json(resources.requests);
  return object;
}

json::object status_json(const PodView& view, const Container& container,
                         const ContainerView& own) {
  const bool running = own.stage == Stage::kRunning;
  const bool completed = container.kind == Container::Kind::kInit &&
                         own.stage == Stage::kTerminated && own.exit && own.exit->code == 0;
  const std::string_view list =
      container.kind == Container::Kind::kApp ? "containers" : "initContainers";
  json::object object{
      {"name", container.name},
      {"state", state_json(view, own)},
      {"lastState", own.last ? terminated_json(view, container.name, *own.last, own.last_attempt)
                             : json::object()},
      {"ready", running ? container.kind != Container::Kind::kInit : completed},
      {"restartCount", own.restarts},
      {"image", image_of(view.pod, list, container.name)},
      {"imageID", ""},
      {"started", running}};
  if (own.stage != Stage::kWaiting) {
    object["containerID"] = container_id(view.pod, container.name, own.attempt);
  }
  // One that has never run has been given nothing that could be looked at.
  if (own.stage == Stage::kWaiting && !own.last) return object;
  const Resources& granted = own.granted ? *own.granted : container.resources;
  if (!granted.requests.empty()) object["allocatedResources"] = amounts_json(granted.requests);
  object["resources"] = resources_json(own.actual ? *own.actual : granted);
  return object;
}

json::array statuses_json(const PodView& view, const std::vector<Container>& containers,
                          const std::vector<ContainerView>& views) {
  json::array statuses;
  statuses.reserve(containers.size());
  for (const Container& container : containers) {
    const auto found = std::find_if(views.begin(), views.end(), [&](const ContainerView& own) {
      return own.name == container.name;
    });
    const ContainerView waits{.name = container.name,
                              .reason = view.scheduled ? "ContainerCreating" : ""};
    statuses.push_back(status_json(view, container, found == views.end() ? waits : *found));
  }
  return statuses;
}

// Asking for the deletion counts as one.
std::uint64_t generation_of(const PodView& view) {
  return view.generation + (view.deleted_at.count() != 0 ? 1 : 0);
}

// The node's own, and those of other types that somebody has written into the status.
json::array all_conditions(const PodView& view) {
  json::array conditions = pod_conditions(view);
  for (json::value& condition : conditions) {
    condition.as_object()["observedGeneration"] = generation_of(view);
  }
  for (const json::value& other : look_array(view.pod.raw, {"status", "conditions"})) {
    const std::string_view type = look_text(as_object_or_empty(other), {"type"});
    if (!type.empty() && !is_own_condition(type)) conditions.push_back(other);
  }
  return conditions;
}

json::object pod_status(const PodView& view) {
  json::object status{{"observedGeneration", generation_of(view) - (view.is_undecided ? 1 : 0)},
                      {"phase", view.phase},
                      {"conditions", all_conditions(view)}};
  // Why a pod waits is in its condition PodScheduled.
  if (view.phase == "Failed" && !view.reason.empty()) status["reason"] = view.reason;
  if (view.phase == "Failed" && !view.message.empty()) status["message"] = view.message;
  put_time(status, "startTime", view.started_at);
  if (!view.pod.init_containers.empty()) {
    status["initContainerStatuses"] =
        statuses_json(view, view.pod.init_containers, view.init_containers);
  }
  status["containerStatuses"] = statuses_json(view, view.pod.containers, view.containers);
  status["qosClass"] = name_of(qos_class(view.pod, PodGates{}));
  return status;
}

void put_metadata(json::object& object, const PodView& view) {
  json::value& value = object["metadata"];
  if (!value.is_object()) value.emplace_object();
  json::object& metadata = value.get_object();
  metadata["uid"] = view.pod.uid;
  metadata["resourceVersion"] = fmt::to_string(view.resource_version);
  metadata["generation"] = generation_of(view);
  put_time(metadata, "creationTimestamp", view.created_at);
  if (view.deleted_at.count() != 0) {
    // As Kubernetes means it: the time by which it is to be gone.
    metadata["deletionTimestamp"] = time_text(view.deleted_at + view.grace);
    metadata["deletionGracePeriodSeconds"] = view.grace.count();
  } else {
    erase_members(metadata, {"deletionTimestamp", "deletionGracePeriodSeconds"});
  }
}

}  // namespace

json::object to_json(const PodView& view) {
  json::object object = to_json(view.pod);
  object["apiVersion"] = "v1";
  object["kind"] = "Pod";
  put_metadata(object, view);
  json::value& spec = object["spec"];
  if (spec.is_object() && !view.host.empty() && view.scheduled) {
    spec.get_object()["nodeName"] = view.host;
  }
  object["status"] = pod_status(view);
  return object;
}

json::object pod_list_json(json::array pods, std::uint64_t resource_version) {
  return {{"kind", "PodList"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"resourceVersion", fmt::to_string(resource_version)}}},
          {"items", std::move(pods)}};
}

}  // namespace corehold
