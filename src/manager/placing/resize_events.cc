// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/resize_events.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "pod/pod_json.h"

namespace corehold {

namespace json = boost::json;

std::string told_of(std::uint64_t generation, const Pod& pod, std::string_view error) {
  json::array containers;
  for (const Container* container : in_starting_order(pod)) {
    containers.push_back(
        json::object{{"name", container->name}, {"resources", to_json(container->resources)}});
  }
  json::object object{{"containers", std::move(containers)},
                      {"generation", static_cast<std::int64_t>(generation)}};
  if (!error.empty()) object["error"] = error;
  return json::serialize(object);
}

void report_resize_error(PlacingTurn& turn, const ContainerRef& ref, const std::string& message) {
  PlacedPod& pod = turn.placing.pods.at(ref.pod);
  const auto container = pod.containers.find(ref.container);
  const bool is_under_way =
      container == pod.containers.end() ? is_resizing(pod) : container->second.actual.has_value();
  if (!is_under_way) return;
  std::string& shown = pod.resize.errors[ref.container];
  if (shown == message) return;
  shown = message;
  turn.warn(ref, "ResizeError",
            fmt::format("Pod resize error: {}", told_of(pod.generation, pod.pod, message)));
}

void clear_resize_error(PlacedPod& pod, const std::string& container) {
  pod.resize.errors.erase(container);
}

void count_requested(const Turn& turn, const ResourcesByContainer& wanted, const Pod& now) {
  const auto count = [&](std::string_view resource, std::string_view requirement,
                         const ResourceList& before, const ResourceList& after) {
    const auto old = before.find(resource);
    const auto next = after.find(resource);
    std::string_view operation;
    if (old == before.end() && next == after.end()) return;
    if (old == before.end()) {
      operation = "add";
    } else if (next == after.end()) {
      operation = "remove";
    } else if (old->second == next->second) {
      return;
    } else {
      operation = old->second < next->second ? "increase" : "decrease";
    }
    turn.emit(CountMetric{"kubelet_container_requested_resizes_total",
                          {{"resource", std::string(resource)},
                           {"requirement", std::string(requirement)},
                           {"operation", std::string(operation)}}});
  };
  for (const auto& [name, resources] : wanted) {
    const Container* before = now.find(name);
    if (before == nullptr) continue;  // pod-level
    for (const std::string_view resource : {kCpu, kMemory}) {
      count(resource, "limits", before->resources.limits, resources.limits);
      count(resource, "requests", before->resources.requests, resources.requests);
    }
  }
}

}  // namespace corehold
