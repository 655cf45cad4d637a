// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/object/label_rules.h"
#include "api/pod/pod_resources.h"
#include "api/pod/pod_validation_parts.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr auto kFieldLabels = std::to_array<std::string_view>(
    {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
     "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
     "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP",
     "status.podIPs"});

struct Divisors {
  std::string_view resource;  // what the name ends in
  std::string_view allowed;   // with a blank around each
  std::string_view text;
};

constexpr std::string_view kByteDivisors = " 1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei ";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_resource(std::string_view text) {
  return is_one_of(text, {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
                          "requests.ephemeral-storage", "requests.memory"}) ||
         text.starts_with("limits.hugepages-") || text.starts_with("requests.hugepages-");
}

bool is_assigned(std::string_view text) {
  return text == "assigned.cpuset" || text == "assigned.memset";
}

void check_divisor(const json::object& field, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view resource = look_text(field, {"resource"});
  const std::string_view text = look_text(field, {"divisor"});
  const auto divisor = Quantity::parse(text);
  if (!divisor || divisor->sign() == 0) return;
  const std::string padded = fmt::format(" {} ", divisor->str());
  const auto refuse = [&](std::string_view values, std::string_view of) {
    errors.invalid(
        path / "divisor", resource,
        fmt::format("only divisor's values {} are supported with the {} resource", values, of));
  };
  constexpr std::string_view kBytes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
  const bool is_byte_divisor = kByteDivisors.find(padded) != std::string_view::npos;
  if (resource.ends_with(".cpu")) {
    if (!is_one_of(divisor->str(), {"1", "1m"})) refuse("1m and 1", "cpu");
  } else if (resource.ends_with(".memory")) {
    if (!is_byte_divisor) refuse(kBytes, "memory");
  } else if (resource.ends_with(".ephemeral-storage")) {
    if (!is_byte_divisor) refuse(kBytes, "local ephemeral storage");
  } else if (resource.find(".hugepages-") != std::string_view::npos) {
    if (!is_byte_divisor) refuse(kBytes, "hugepages");
  }
}

bool has_container(const json::object& spec, std::string_view name) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const json::value& container : look_array(spec, {list})) {
      if (look_text(as_object_or_empty(container), {"name"}) == name) return true;
    }
  }
  return false;
}

// Ours: which CPUs and memory nodes a container has. A file, because it changes.
void check_assigned(const json::object& field, const json::object& spec, const ErrorPath& path,
                    FieldErrors& errors) {
  const std::string_view container = look_text(field, {"containerName"});
  if (container.empty()) {
    errors.required(path / "containerName");
  } else if (!has_container(spec, container)) {
    errors.not_found(path / "containerName", container);
  }
  const auto divisor = Quantity::parse(look_text(field, {"divisor"}));
  if (divisor && divisor->sign() != 0) {
    errors.invalid(path / "divisor", look_text(field, {"resource"}),
                   "a set of numbers cannot be divided");
  }
}

constexpr std::string_view kNeverChanges =
    "an environment variable could never change; ask for it in a downwardAPI volume, or for both "
    "files with the annotation corehold.dev/podinfo";

}  // namespace

void check_field_ref(const json::object& field, DownwardUse use, const ErrorPath& path,
                     FieldErrors& errors) {
  const std::string_view version = look_text(field, {"apiVersion"});
  const std::string_view text = look_text(field, {"fieldPath"});
  if (version.empty()) return errors.required(path / "apiVersion");
  if (text.empty()) return errors.required(path / "fieldPath");
  const std::size_t bracket = text.find("['");
  const bool has_subscript = bracket != std::string_view::npos && text.ends_with("']");
  const std::string_view label = text == "spec.host" ? "spec.nodeName"
                                 : has_subscript     ? text.substr(0, bracket)
                                                     : text;
  const bool is_known =
      std::find(kFieldLabels.begin(), kFieldLabels.end(), label) != kFieldLabels.end();
  if (version != "v1" || !is_known) {
    const std::string why = version != "v1" ? fmt::format("unsupported pod version: {}", version)
                                            : fmt::format("field label not supported: {}", text);
    return errors.invalid(path / "fieldPath", text,
                          fmt::format("error converting fieldPath: {}", why));
  }
  if (has_subscript) {
    const std::string_view key = text.substr(bracket + 2, text.size() - bracket - 4);
    if (!is_one_of(label, {"metadata.labels", "metadata.annotations"}))
      return errors.invalid(path, label, "does not support subscript");
    return errors.add_all(path, key, label_key_problems(key));
  }
  if (use == DownwardUse::kVolume) {
    if (!is_one_of(label, {"metadata.annotations", "metadata.labels", "metadata.name",
                           "metadata.namespace", "metadata.uid"})) {
      errors.not_supported(path / "fieldPath", label,
                           {"metadata.annotations", "metadata.labels", "metadata.name",
                            "metadata.namespace", "metadata.uid"});
    }
    return;
  }
  if (!is_one_of(label, {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
                         "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                         "status.podIP", "status.podIPs"})) {
    errors.not_supported(path / "fieldPath", label,
                         {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
                          "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                          "status.podIP", "status.podIPs"});
  }
}

void check_resource_field_ref(const json::object& field, DownwardUse use, const json::object& spec,
                              const PodRules& rules, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view resource = look_text(field, {"resource"});
  if (use == DownwardUse::kVolume && is_assigned(resource)) {
    if (rules.assigned_resources) check_assigned(field, spec, path, errors);
    return;
  }
  if (is_assigned(resource)) return errors.invalid(path / "resource", resource, kNeverChanges);
  if (use == DownwardUse::kVolume && look_text(field, {"containerName"}).empty()) {
    errors.required(path / "containerName");
  } else if (resource.empty()) {
    errors.required(path / "resource");
  } else if (!is_resource(resource)) {
    errors.not_supported(path / "resource", resource,
                         {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
                          "requests.ephemeral-storage", "requests.memory"});
  }
  check_divisor(field, path, errors);
}

}  // namespace corehold
