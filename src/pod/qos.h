// SPDX-License-Identifier: Apache-2.0
//
// The QoS class of a pod and the number of exclusive CPUs that its containers are
// entitled to, both exactly as a kubelet computes them. All functions look at the
// pod as it is: call set_defaults before where the API server would have.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "pod/pod.h"

namespace corehold {

enum class QosClass { kGuaranteed, kBurstable, kBestEffort };

// "Guaranteed", "Burstable", "BestEffort".
std::string_view name_of(QosClass qos);

// The kubelet's feature gates that change the answers, with its defaults.
struct PodGates {
  bool pod_level_resources = true;
  // Off: pod-level resources that are present but empty still decide the QoS class.
  bool pod_level_resources_fix_kubelet_qos_class = true;
};

// Whether the pod has a pod-level amount of CPU, memory or huge pages.
bool has_pod_level_resources(const Pod& pod);

// status.qosClass if it holds a class, else what the resources say.
QosClass qos_class(const Pod& pod, const PodGates& gates);

// What the resources say, whatever status.qosClass holds.
QosClass qos_by_resources(const Pod& pod, const PodGates& gates);

// How many CPUs the container gets for itself; 0: it runs on the shared CPUs. Only
// integral requests of Guaranteed pods count, and none of a pod with pod-level
// resources while that gate is on.
std::int64_t exclusive_cpus(const Pod& pod, const Container& container, const PodGates& gates);
// The same of a pod that is known to have no pod-level resources and to be of this class.
std::int64_t exclusive_cpus(QosClass qos, const Container& container);

// What containers started one after the other use together at the most: an init container
// has ended when the next one starts, sidecars and containers go on.
class Peak {
 public:
  // REQUIRES: amount >= 0. What does not fit 64 bits becomes the largest that does.
  void start(Container::Kind kind, std::int64_t amount);
  std::int64_t most() const { return most_; }

 private:
  std::int64_t running_ = 0;
  std::int64_t most_ = 0;
};

// How much of a resource the pod needs at the most demanding moment of its life: an init
// container with the sidecars started before it, or all sidecars and containers. What
// does not fit 64 bits becomes the largest that does.
// REQUIRES: amount() is never negative.
std::int64_t most_at_once(const Pod& pod,
                          const std::function<std::int64_t(const Container&)>& amount);

// How many exclusive CPUs the pod needs at the most demanding moment of its life.
std::int64_t exclusive_cpus(const Pod& pod, const PodGates& gates);

}  // namespace corehold
