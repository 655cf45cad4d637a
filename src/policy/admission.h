// SPDX-License-Identifier: Apache-2.0
//
// Admission of one pod: topology hints of CPU, memory and devices, merged by the
// topology manager for each container or for the pod, then CPUs, memory and devices for
// every container in starting order; all of it or nothing. The decision is written into the
// bookings in place, and can be taken back (bookings.h). What it costs does not depend on how
// many other pods the node holds, but for the text of a refusal, which names them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hints/merge.h"
#include "pod/pod.h"
#include "pod/qos.h"
#include "policy/bookings.h"
#include "policy/policy.h"

namespace corehold {

// What admission is decided under. The referred must outlive it.
struct AdmissionRules {
  const Topology& topology;
  const Policy& policy;
  TopologyOptions topology_options{};
  PodGates pod_gates{};
  // CPUs that exist and cannot be given now, because they are offline. They stay where they are
  // booked: in the shared set, or with the containers that hold them.
  CpuSet unavailable{};
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
  bool had_cpus = false;                 // before: it keeps them
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
};

// A pod that has all it asks for keeps it, and the topology manager is not asked again:
// whatever else has changed, nothing that runs is turned away. Refusals have the kubelet's reasons:
// TopologyAffinityError when the topology manager's policy cannot be met, OutOfcpu and
// SMTAlignmentError for CPUs, UnexpectedAdmissionError for memory and devices.
// Afterwards the bookings hold all that the pod was given; if it was refused they are as before.
// To ask without admitting, take the booking_of() the pod before and restore() it afterwards.
// REQUIRES: the pod has passed validate().
Decision admit(const AdmissionRules& rules, Bookings& bookings, const Pod& pod);

// Gives back everything the pod holds. An unknown pod is no error.
void release(const AdmissionRules& rules, Bookings& bookings, const std::string& pod_uid);

}  // namespace corehold
