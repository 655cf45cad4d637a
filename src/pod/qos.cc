// SPDX-License-Identifier: Apache-2.0
#include "pod/qos.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace corehold {
namespace {

constexpr std::array kClasses{QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort};

bool decides_qos(std::string_view resource) { return resource == kCpu || resource == kMemory; }

bool is_pod_level(std::string_view resource) {
  return decides_qos(resource) || resource.starts_with("hugepages-");
}

bool has_pod_level(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const auto& entry) { return is_pod_level(entry.first); });
}

// The positive amounts of the resources that decide the class, added up.
class Totals {
 public:
  // Whether the list had a positive amount of each.
  bool add(const ResourceList& list) {
    std::size_t found = 0;
    for (const auto& [resource, amount] : list) {
      if (!decides_qos(resource) || amount.sign() <= 0) continue;
      Quantity& sum = sums_[resource];
      sum = sum + amount;
      ++found;
    }
    return found == 2;
  }

  bool empty() const { return sums_.empty(); }
  bool operator==(const Totals&) const = default;

 private:
  ResourceList sums_{};
};

bool uses_pod_level(const Pod& pod, const PodGates& gates) {
  if (!gates.pod_level_resources || !pod.resources) return false;
  return !gates.pod_level_resources_fix_kubelet_qos_class || has_pod_level_resources(pod);
}

// Whether it has CPU and memory, and is limited to just what it requests.
bool is_guaranteed(const Container& container) {
  const auto same = [&](std::string_view resource) {
    const auto request = container.resources.requests.find(resource);
    if (request == container.resources.requests.end() || request->second.sign() <= 0) return false;
    const auto limit = container.resources.limits.find(resource);
    return limit != container.resources.limits.end() && limit->second == request->second;
  };
  return same(kCpu) && same(kMemory);
}

// What nearly all Guaranteed pods are, found without adding up: each container is.
bool is_plainly_guaranteed(const Pod& pod) {
  return !pod.containers.empty() &&
         std::all_of(pod.containers.begin(), pod.containers.end(), is_guaranteed) &&
         std::all_of(pod.init_containers.begin(), pod.init_containers.end(), is_guaranteed);
}

std::optional<QosClass> class_named(std::string_view name) {
  for (const QosClass qos : kClasses) {
    if (name_of(qos) == name) return qos;
  }
  return std::nullopt;
}

// REQUIRES: a, b >= 0.
std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return a > kMax - b ? kMax : a + b;
}

}  // namespace

std::string_view name_of(QosClass qos) {
  switch (qos) {
    case QosClass::kGuaranteed:
      return "Guaranteed";
    case QosClass::kBurstable:
      return "Burstable";
    case QosClass::kBestEffort:
      return "BestEffort";
  }
  check_failed("every QosClass has a name", __FILE__, __LINE__);
}

bool has_pod_level_resources(const Pod& pod) {
  return pod.resources &&
         (has_pod_level(pod.resources->requests) || has_pod_level(pod.resources->limits));
}

QosClass qos_by_resources(const Pod& pod, const PodGates& gates) {
  Totals requests;
  Totals limits;
  bool all_limited = true;
  const bool by_pod = uses_pod_level(pod, gates);
  if (!by_pod && is_plainly_guaranteed(pod)) return QosClass::kGuaranteed;
  if (by_pod) {
    requests.add(pod.resources->requests);
    if (!pod.resources->limits.empty()) all_limited = limits.add(pod.resources->limits);
  } else {
    for (const auto* list : {&pod.containers, &pod.init_containers}) {
      for (const Container& container : *list) {
        requests.add(container.resources.requests);
        if (!limits.add(container.resources.limits)) all_limited = false;
      }
    }
  }
  if (requests.empty() && limits.empty()) return QosClass::kBestEffort;
  return all_limited && requests == limits ? QosClass::kGuaranteed : QosClass::kBurstable;
}

QosClass qos_class(const Pod& pod, const PodGates& gates) {
  if (const auto stated = class_named(pod.qos_class)) return *stated;
  return qos_by_resources(pod, gates);
}

std::int64_t exclusive_cpus(const Pod& pod, const Container& container, const PodGates& gates) {
  if (qos_class(pod, gates) != QosClass::kGuaranteed) return 0;
  if (gates.pod_level_resources && has_pod_level_resources(pod)) return 0;
  return exclusive_cpus(QosClass::kGuaranteed, container);
}

std::int64_t exclusive_cpus(QosClass qos, const Container& container) {
  if (qos != QosClass::kGuaranteed) return 0;
  const Quantity request = container.request(kCpu);
  if (request.sign() <= 0 || !request.is_integral_cpu()) return 0;
  return request.value();
}

void Peak::start(Container::Kind kind, std::int64_t amount) {
  const std::int64_t together = saturating_add(running_, amount);
  most_ = std::max(most_, together);
  if (kind != Container::Kind::kInit) running_ = together;
}

std::int64_t most_at_once(const Pod& pod,
                          const std::function<std::int64_t(const Container&)>& amount) {
  Peak peak;
  for (const Container* container : in_starting_order(pod)) {
    peak.start(container->kind, amount(*container));
  }
  return peak.most();
}

std::int64_t exclusive_cpus(const Pod& pod, const PodGates& gates) {
  return most_at_once(
      pod, [&](const Container& container) { return exclusive_cpus(pod, container, gates); });
}

}  // namespace corehold
