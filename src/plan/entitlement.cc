// SPDX-License-Identifier: Apache-2.0
#include "plan/entitlement.h"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace corehold {
namespace {

// Quantities may have thousands of digits.
std::string shortened(const Quantity& amount) {
  std::string text = amount.str();
  if (text.size() > 24) text = text.substr(0, 20) + "...";
  return text;
}

// What keeps the container from being Guaranteed.
std::optional<std::string> shortcoming(std::string_view who, const Resources& resources) {
  for (const std::string_view resource : std::array{kCpu, kMemory}) {
    const auto limit = resources.limits.find(resource);
    if (limit == resources.limits.end() || limit->second.sign() <= 0) {
      return fmt::format("{} has no {} limit", who, resource);
    }
    const auto request = resources.requests.find(resource);
    if (request != resources.requests.end() && request->second != limit->second) {
      return fmt::format("{} requests {} {} and may use {}", who, resource,
                         shortened(request->second), shortened(limit->second));
    }
  }
  return std::nullopt;
}

std::string burstable_reason(const Pod& pod) {
  for (const Container* container : in_starting_order(pod)) {
    const auto found =
        shortcoming(fmt::format("container {}", container->name), container->resources);
    if (found) return *found;
  }
  return "requests and limits differ";
}

std::string pod_level_reason(const Pod& pod, QosClass qos) {
  if (qos == QosClass::kGuaranteed) return "its pod-level requests equal its limits";
  const auto found = shortcoming("the pod as a whole", *pod.resources);
  return found ? *found : "its pod-level requests and limits differ";
}

}  // namespace

std::string qos_reason(const Pod& pod, const PodGates& gates) {
  const QosClass qos = qos_class(pod, gates);
  if (pod.qos_class == name_of(qos)) return "as its status says";
  if (qos == QosClass::kBestEffort) return "nobody in it asks for CPU or memory";
  if (gates.pod_level_resources && has_pod_level_resources(pod)) return pod_level_reason(pod, qos);
  if (qos == QosClass::kGuaranteed) {
    return "every container has CPU and memory limits, and requests as much";
  }
  return burstable_reason(pod);
}

std::string entitlement(const Pod& pod, const Container& container, const PodGates& gates) {
  const QosClass qos = qos_class(pod, gates);
  if (qos != QosClass::kGuaranteed) {
    return fmt::format("the pod is {}; only Guaranteed ones have exclusive CPUs", name_of(qos));
  }
  if (gates.pod_level_resources && has_pod_level_resources(pod)) {
    return "the pod has pod-level resources, which never bring exclusive CPUs";
  }
  const Quantity request = container.request(kCpu);
  if (request.sign() <= 0) return "it asks for no CPU";
  if (!request.is_integral_cpu()) {
    return fmt::format("cpu {} is not a whole number", shortened(request));
  }
  return fmt::format("the pod is Guaranteed and cpu {} is a whole number", shortened(request));
}

}  // namespace corehold
