// SPDX-License-Identifier: Apache-2.0
//
// Admission of one pod: topology hints of CPU, memory and devices, merged by the
// topology manager for each container or for the pod, then CPUs, memory and devices for
// every container in starting order; all of it or nothing. Decides only: the answer
// holds the bookings as they would be afterwards, and how each choice came about.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hints/devices.h"
#include "hints/memory.h"
#include "hints/merge.h"
#include "pod/pod.h"
#include "pod/qos.h"
#include "policy/policy.h"
#include "state/state.h"

namespace corehold {

// Everything that is given away on a node.
struct Bookings {
  State cpus{};
  MemoryBook memory{};
  DeviceBook devices{};

  bool operator==(const Bookings&) const = default;
};

// What admission is decided under. The referred must outlive it.
struct AdmissionRules {
  const Topology& topology;
  const Policy& policy;
  TopologyOptions topology_options{};
  PodGates pod_gates{};
  // How refusals name the pod with that UID; not given: by its UID.
  std::function<std::string(const std::string& uid)> pod_name{};
};

// One merge: whose hints, and what came of them. With scope pod there is one for all
// containers, with scope container one for each; with policy none there is none.
struct Alignment {
  std::vector<ResourceHints> hints{};
  Merged merged{};
};

struct ContainerDecision {
  std::string container{};
  Container::Kind kind = Container::Kind::kApp;
  int cpus_asked = 0;                    // exclusive CPUs it is entitled to; 0: it shares
  std::optional<Alignment> alignment{};  // of its own; scope container only
  std::optional<NodeSet> affinity{};     // what the topology manager asked to keep to
  CpuSet candidates{};                   // CPUs it could have been given
  CpuSet near{};                         // those of them near the affinity
  CpuSet granted{};                      // empty: it runs in the shared pool
  NodeMemory memory{};                   // bytes booked by resource; empty: none
  NodeSet memory_nodes{};                // where
  std::map<std::string, std::vector<std::string>> devices{};  // ids by resource
};

// Why a pod cannot come in.
struct Refusal {
  std::string reason{};     // the kubelet's: "TopologyAffinityError", "OutOfcpu", ...
  std::string container{};  // at which it failed; "" for the pod as a whole
  std::string text{};       // the kubelet's, where it has one
  std::string message{};    // contains `text`, with who, what is free and who holds the rest
};

struct Decision {
  QosClass qos = QosClass::kBestEffort;
  std::optional<Alignment> alignment{};         // of the pod; scope pod only
  std::vector<ContainerDecision> containers{};  // as far as it got
  std::optional<Refusal> refusal{};             // no value: admitted
  Bookings after{};                             // as before, if refused
};

// A pod that has all it asks for keeps it, and the topology manager is not asked again:
// whatever else has changed, nothing that runs is turned away. Refusals have the kubelet's reasons:
// TopologyAffinityError when the topology manager's policy cannot be met, OutOfcpu and
// SMTAlignmentError for CPUs, UnexpectedAdmissionError for memory and devices.
// REQUIRES: the pod has passed validate().
Decision admit(const AdmissionRules& rules, const Bookings& before, const Pod& pod);

// Whether the pod holds CPUs, memory or devices.
bool holds_anything(const Bookings& bookings, const std::string& pod_uid);

// Gives back everything the pod holds. An unknown pod is no error.
Bookings release(const AdmissionRules& rules, Bookings bookings, const std::string& pod_uid);

}  // namespace corehold
