// SPDX-License-Identifier: Apache-2.0
#include "cli/apply/pod_warnings.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/words.h"
#include "pod/qos.h"

namespace corehold {
namespace {

namespace json = boost::json;
using FieldNames = std::span<const std::string_view>;

constexpr std::array<std::string_view, 42> kSpecFields{"activeDeadlineSeconds",
                                                       "affinity",
                                                       "automountServiceAccountToken",
                                                       "containers",
                                                       "dnsConfig",
                                                       "dnsPolicy",
                                                       "enableServiceLinks",
                                                       "ephemeralContainers",
                                                       "hostAliases",
                                                       "hostIPC",
                                                       "hostNetwork",
                                                       "hostPID",
                                                       "hostUsers",
                                                       "hostname",
                                                       "hostnameOverride",
                                                       "imagePullSecrets",
                                                       "initContainers",
                                                       "nodeName",
                                                       "nodeSelector",
                                                       "os",
                                                       "overhead",
                                                       "preemptionPolicy",
                                                       "priority",
                                                       "priorityClassName",
                                                       "readinessGates",
                                                       "resourceClaims",
                                                       "resources",
                                                       "restartPolicy",
                                                       "runtimeClassName",
                                                       "schedulerName",
                                                       "schedulingGates",
                                                       "securityContext",
                                                       "serviceAccount",
                                                       "serviceAccountName",
                                                       "setHostnameAsFQDN",
                                                       "shareProcessNamespace",
                                                       "subdomain",
                                                       "terminationGracePeriodSeconds",
                                                       "tolerations",
                                                       "topologySpreadConstraints",
                                                       "volumes",
                                                       "workloadRef"};
// Without what is harmless to leave out where there is one node and no network.
constexpr std::array<std::string_view, 10> kUnusedSpecFields{
    "activeDeadlineSeconds", "hostAliases",    "hostname",         "overhead",
    "readinessGates",        "resourceClaims", "runtimeClassName", "schedulingGates",
    "shareProcessNamespace", "affinity"};

constexpr std::array<std::string_view, 25> kContainerFields{"args",
                                                            "command",
                                                            "env",
                                                            "envFrom",
                                                            "image",
                                                            "imagePullPolicy",
                                                            "lifecycle",
                                                            "livenessProbe",
                                                            "name",
                                                            "ports",
                                                            "readinessProbe",
                                                            "resizePolicy",
                                                            "resources",
                                                            "restartPolicy",
                                                            "restartPolicyRules",
                                                            "securityContext",
                                                            "startupProbe",
                                                            "stdin",
                                                            "stdinOnce",
                                                            "terminationMessagePath",
                                                            "terminationMessagePolicy",
                                                            "tty",
                                                            "volumeDevices",
                                                            "volumeMounts",
                                                            "workingDir"};
constexpr std::array<std::string_view, 6> kUnusedContainerFields{
    "lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "stdin", "tty"};

constexpr std::array<std::string_view, 3> kResourceFields{"claims", "limits", "requests"};

bool is_one_of(std::string_view name, FieldNames names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Warnings {
 public:
  void check(const json::value* value, const std::string& path, FieldNames known,
             FieldNames unused) {
    if (value == nullptr || !value->is_object()) return;
    for (const auto& member : value->get_object()) {
      const std::string_view name = member.key();
      if (is_one_of(name, unused)) {
        found_.push_back(fmt::format("{}.{}: this node does not honour it", path, clipped(name)));
      } else if (!is_one_of(name, known)) {
        found_.push_back(fmt::format("{}.{}: is not a known field{}", path, clipped(name),
                                     did_you_mean(name, known)));
      }
    }
  }

  void check_containers(const json::object& spec, const std::string& list) {
    const json::value* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) return;
    std::size_t position = 0;
    for (const json::value& container : containers->get_array()) {
      const std::string path = fmt::format("spec.{}[{}]", list, position++);
      check(&container, path, kContainerFields, kUnusedContainerFields);
      if (!container.is_object()) continue;
      check(container.get_object().if_contains("resources"), path + ".resources", kResourceFields,
            {});
    }
  }

  // Why no container gets CPUs of its own, though whole ones are asked for.
  void check_sharing(Pod pod) {
    set_defaults(pod);
    for (const Container* container : in_starting_order(pod)) {
      const Quantity asked = std::max(container->limit(kCpu), container->request(kCpu));
      if (asked < Quantity::of(1) || exclusive_cpus(pod, *container, {}) > 0) continue;
      const bool is_guaranteed = qos_class(pod, {}) == QosClass::kGuaranteed;
      found_.push_back(fmt::format(
          "container {} shares CPUs: {}", clipped(container->name),
          is_guaranteed ? "its CPUs are no whole number"
                        : "for CPUs of its own every container of the pod needs limits for cpu and "
                          "memory, and requests, if given, equal to them"));
    }
  }

  std::vector<std::string> take() && { return std::move(found_); }

 private:
  std::vector<std::string> found_{};
};

}  // namespace

std::vector<std::string> warnings_of(const Pod& pod) {
  Warnings warnings;
  const json::value* spec = pod.raw->if_contains("spec");
  if (spec != nullptr && spec->is_object()) {
    warnings.check(spec, "spec", kSpecFields, kUnusedSpecFields);
    warnings.check_containers(spec->get_object(), "initContainers");
    warnings.check_containers(spec->get_object(), "containers");
  }
  warnings.check_sharing(pod);
  return std::move(warnings).take();
}

}  // namespace corehold
