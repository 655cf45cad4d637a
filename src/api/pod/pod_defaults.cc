// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_defaults.h"

#include <array>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "api/json/json_edit.h"
#include "api/json/json_look.h"
#include "api/pod/pod_resources.h"
#include "pod/quantity.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::int64_t kGraceSeconds = 30;
constexpr std::int64_t kTolerationSeconds = 300;
constexpr int kFileMode = 0644;
constexpr std::int64_t kTokenSeconds = 3600;

constexpr auto kToleratedTaints = std::to_array<std::string_view>(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"});

// Unless something is said.
void fill(json::object& object, std::string_view field, json::value value) {
  json::value& found = object[field];
  const bool is_empty_text = found.is_string() && found.get_string().empty();
  if (found.is_null() || is_empty_text) found = std::move(value);
}

// The same for numbers whose zero means that nothing is said.
void fill_zero(json::object& object, std::string_view field, std::int64_t value) {
  json::value& found = object[field];
  if (!found.is_int64() || found.get_int64() == 0) found = value;
}

template <typename Do>
void for_each_in(json::object& object, std::string_view list, const Do& action) {
  json::array* elements = list_in(object, list);
  if (elements == nullptr) return;
  for (json::value& element : *elements) {
    if (json::object* one = element.if_object()) action(*one);
  }
}

// What is finer than a thousandth is rounded up to one.
void round_amounts(json::object& owner, std::string_view list) {
  json::object* amounts = object_in(owner, list);
  if (amounts == nullptr) return;
  for (auto& [resource, amount] : *amounts) {
    const json::string* text = amount.if_string();
    const auto quantity = Quantity::parse(text == nullptr ? std::string_view() : *text);
    const auto thousandths = quantity ? quantity->scaled(-3) : std::nullopt;
    if (!thousandths) continue;
    const Quantity rounded = Quantity::of_milli(*thousandths);
    if (rounded != *quantity) amount = json::string(rounded.str());
  }
}

void set_amounts(json::object& resources) {
  round_amounts(resources, "limits");
  round_amounts(resources, "requests");
}

void set_requests_from_limits(json::object& resources) {
  const json::object* limits = object_in(resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const json::object from = *limits;
  json::value& requests = resources["requests"];
  if (!requests.is_object()) requests = json::object();
  for (const auto& [resource, amount] : from) {
    if (!requests.get_object().contains(resource)) requests.get_object()[resource] = amount;
  }
}

// Requests of the pod as a whole: those of its containers together, or else its limits.
void set_pod_requests(json::object& spec) {
  json::object* resources = object_in(spec, "resources");
  if (resources == nullptr) return;
  set_amounts(*resources);
  const json::object* limits = object_in(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  json::object requests;
  if (const json::object* given = object_in(*resources, "requests")) requests = *given;
  for (const auto& [resource, amount] : requested_together(spec)) {
    if (is_pod_level_resource(resource) && !requests.contains(resource))
      requests[resource] = amount.str();
  }
  for (const auto& [resource, amount] : *limits) {
    if (is_pod_level_resource(resource) && !requests.contains(resource))
      requests[resource] = amount;
  }
  if (!requests.empty()) (*resources)["requests"] = std::move(requests);
}

const char* pull_policy(std::string_view image) {
  const bool has_digest = image.find('@') != std::string_view::npos;
  const std::string_view last = image.substr(image.find_last_of('/') + 1);
  const std::size_t colon = last.find(':');
  if (image.empty() || has_digest) return "IfNotPresent";
  return colon == std::string_view::npos || last.substr(colon + 1) == "latest" ? "Always"
                                                                               : "IfNotPresent";
}

void set_http_get(json::object& handler) {
  if (json::object* get = object_in(handler, "httpGet")) {
    fill(*get, "path", "/");
    fill(*get, "scheme", "HTTP");
  }
}

void set_probe(json::object& probe) {
  fill_zero(probe, "timeoutSeconds", 1);
  fill_zero(probe, "periodSeconds", 10);
  fill_zero(probe, "successThreshold", 1);
  fill_zero(probe, "failureThreshold", 3);
  set_http_get(probe);
  if (json::object* grpc = object_in(probe, "grpc")) fill(*grpc, "service", "");
}

void set_field_version(json::object& owner) {
  if (json::object* field = object_in(owner, "fieldRef")) fill(*field, "apiVersion", "v1");
}

void set_container(json::object& container) {
  fill(container, "terminationMessagePath", "/dev/termination-log");
  fill(container, "terminationMessagePolicy", "File");
  fill(container, "imagePullPolicy", pull_policy(look_text(container, {"image"})));
  for_each_in(container, "ports", [](json::object& port) { fill(port, "protocol", "TCP"); });
  for_each_in(container, "env", [](json::object& variable) {
    if (json::object* from = object_in(variable, "valueFrom")) set_field_version(*from);
  });
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (json::object* one = object_in(container, probe)) set_probe(*one);
  }
  if (json::object* lifecycle = object_in(container, "lifecycle")) {
    for (const std::string_view hook : {"postStart", "preStop"}) {
      if (json::object* handler = object_in(*lifecycle, hook)) set_http_get(*handler);
    }
  }
  if (json::object* resources = object_in(container, "resources")) {
    set_amounts(*resources);
    set_requests_from_limits(*resources);
  }
}

void set_downward_items(json::object& source) {
  for_each_in(source, "items", [](json::object& item) { set_field_version(item); });
}

void set_projection(json::object& projection) {
  if (json::object* downward = object_in(projection, "downwardAPI")) set_downward_items(*downward);
  if (json::object* token = object_in(projection, "serviceAccountToken"))
    fill(*token, "expirationSeconds", kTokenSeconds);
}

void set_volume(json::object& volume) {
  // A volume that says nothing of itself but its name.
  if (volume.size() == (volume.contains("name") ? 1 : 0)) volume["emptyDir"] = json::object();
  for (const std::string_view source : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (json::object* one = object_in(volume, source)) fill(*one, "defaultMode", kFileMode);
  }
  if (json::object* downward = object_in(volume, "downwardAPI")) set_downward_items(*downward);
  if (json::object* projected = object_in(volume, "projected"))
    for_each_in(*projected, "sources", set_projection);
  json::object* host = object_in(volume, "hostPath");
  if (host != nullptr && !host->contains("type")) (*host)["type"] = "";
}

// As the admission plugin does: a pod stays for a while on a node that does not answer.
void set_tolerations(json::object& spec) {
  json::value& list = spec["tolerations"];
  if (!list.is_array()) list = json::array();
  for (const std::string_view taint : kToleratedTaints) {
    bool is_tolerated = false;
    for (const json::value& element : list.get_array()) {
      const json::object& toleration = as_object_or_empty(element);
      const std::string_view key = look_text(toleration, {"key"});
      const std::string_view effect = look_text(toleration, {"effect"});
      if ((key == taint || key.empty()) && (effect == "NoExecute" || effect.empty()))
        is_tolerated = true;
    }
    if (is_tolerated) continue;
    list.get_array().push_back(json::object{{"key", taint},
                                            {"operator", "Exists"},
                                            {"effect", "NoExecute"},
                                            {"tolerationSeconds", kTolerationSeconds}});
  }
}

// A node has no priority classes but the two that every cluster has.
void set_priority(json::object& spec) {
  const std::string_view priority_class = look_text(spec, {"priorityClassName"});
  constexpr std::int64_t kSystem = 2'000'000'000;
  std::int64_t priority = 0;
  if (priority_class == "system-cluster-critical") priority = kSystem;
  if (priority_class == "system-node-critical") priority = kSystem + 1000;
  fill(spec, "priority", priority);
  fill(spec, "preemptionPolicy", "PreemptLowerPriority");
}

// The old name of the field is kept equal to the new one.
void set_service_account(json::object& spec) {
  const std::string name(look_text(spec, {"serviceAccountName"}));
  const std::string old_name(look_text(spec, {"serviceAccount"}));
  const std::string& chosen = name.empty() ? old_name : name;
  if (chosen.empty()) return;
  spec["serviceAccountName"] = chosen;
  spec["serviceAccount"] = chosen;
}

}  // namespace

void set_pod_defaults(json::object& pod) {
  json::object* spec = object_in(pod, "spec");
  if (spec == nullptr) return;
  fill(*spec, "restartPolicy", "Always");
  fill(*spec, "terminationGracePeriodSeconds", kGraceSeconds);
  fill(*spec, "dnsPolicy", "ClusterFirst");
  fill(*spec, "securityContext", json::object());
  fill(*spec, "schedulerName", "default-scheduler");
  fill(*spec, "enableServiceLinks", true);
  set_service_account(*spec);
  for_each_in(*spec, "volumes", set_volume);
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for_each_in(*spec, list, set_container);
  if (look_true(*spec, {"hostNetwork"})) {
    for (const std::string_view list : {"initContainers", "containers"}) {
      for_each_in(*spec, list, [](json::object& container) {
        for_each_in(container, "ports", [](json::object& port) {
          fill_zero(port, "hostPort", look_number(port, {"containerPort"}));
        });
      });
    }
  }
  set_pod_requests(*spec);
  round_amounts(*spec, "overhead");
  set_tolerations(*spec);
  set_priority(*spec);
}

}  // namespace corehold
