// SPDX-License-Identifier: Apache-2.0
//
// What a plan says: for every pod of a list, in the order of admission, who gets which
// CPUs and how they sit on the machine, or why the pod is refused and who is in its way;
// and how each choice came about. Plain data, for rendering.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"
#include "hints/merge.h"
#include "plan/fit.h"
#include "pod/pod.h"
#include "pod/qos.h"
#include "policy/resize/resize.h"
#include "topology/memory_inventory.h"

namespace corehold {

// The hints of one resource, as many as are worth reading.
struct HintsShown {
  std::string resource{};     // "cpu", "memory", "example.com/nic"
  bool indifferent = false;   // it does not care where
  std::uint64_t count = 0;    // of all hints
  bool at_least = false;      // there are more than `count`; they were not all counted
  int narrowest = 0;          // NUMA nodes of the narrowest; 0: there is none
  std::vector<Hint> hints{};  // all, or of many some: preferred ones first, then narrowest first
};

// One merge of hints.
struct AlignmentShown {
  std::vector<HintsShown> resources{};
  Merged merged{};
};

struct PlannedContainer {
  std::string name{};
  Container::Kind kind = Container::Kind::kApp;
  std::string cpu_request{};  // as written; "" for none
  int cpus_asked = 0;         // exclusive CPUs it is entitled to; 0: it shares
  std::string entitlement{};  // why so: "cpu 1500m is not a whole number"
  bool is_decided = false;    // false: the pod was refused before its turn came
  CpuSet granted{};           // empty: it shares, or is refused
  CpuSet promised{};          // those of `granted` that no resize takes away
  NodeSet nodes{};            // NUMA nodes of `granted`
  Fit fit{};                  // of `granted`
  NodeMemory memory{};        // bytes booked by resource
  NodeSet memory_nodes{};     // where
  std::map<std::string, std::vector<std::string>> devices{};  // ids by resource
  std::optional<AlignmentShown> alignment{};                  // of its own; scope container
  std::optional<NodeSet> affinity{};  // what the topology manager asked to keep to
  CpuSet candidates{};                // CPUs it could have been given
  CpuSet near{};  // those of them on the affinity's nodes; with align-by-socket, on their sockets
};

// Somebody who has what the refused pod would need: another pod, if it would help that it
// leaves, or a container of the pod itself that would have come before.
struct Holder {
  std::string pod{};
  std::string container{};
  std::string resource{};  // "cpu", "memory", "example.com/nic"
  std::string what{};      // "2-5", "4Gi in NUMA 0", "nic-0 nic-1"

  bool operator==(const Holder&) const = default;
};

struct PlannedRefusal {
  std::string reason{};     // the kubelet's: "TopologyAffinityError"
  std::string container{};  // "" for the pod as a whole
  std::string text{};       // the kubelet's, where it has one
  std::string message{};    // contains `text`, with names and numbers
  std::string rule{};       // which rule of the configuration says no
  std::string missing{};    // what there is too little of, with numbers
  bool fits_empty = false;  // whether it would come in if nobody else were there
  std::vector<Holder> holders{};
};

struct PlannedPod {
  std::size_t index = 0;  // its place in the order of admission, from 1
  std::string name{};     // "namespace/name"
  std::string uid{};
  QosClass qos = QosClass::kBestEffort;
  std::string qos_reason{};
  std::vector<PlannedContainer> containers{};  // in starting order
  std::optional<AlignmentShown> alignment{};   // of the pod as a whole; scope pod
  std::optional<PlannedRefusal> refusal{};     // no value: admitted
};

// A container of a pod that is resized: one that is to change, or whose CPUs do.
struct ResizedContainer {
  std::string name{};
  Container::Kind kind = Container::Kind::kApp;
  std::string cpu_before{};  // the CPU request as written; "" for none
  std::string cpu_after{};
  CpuSet promised{};
  CpuSet before{};  // empty: it shares
  CpuSet after{};   // as before, if the resize is refused
  Fit fit{};        // of `after`
  // Containers of the pod that must have given CPUs up first, and these CPUs.
  std::map<std::string, CpuSet> waits_for{};

  CpuSet kept() const { return before & after; }
  CpuSet added() const { return after - before; }
  CpuSet given_up() const { return before - after; }
};

// One pod's resize, asked for when all pods are in.
struct PlannedResize {
  std::string pod{};  // "namespace/name"
  ResizeVerdict verdict = ResizeVerdict::kAccepted;
  std::vector<ResizedContainer> containers{};  // in starting order
  std::optional<ResizeRefusal> refusal{};      // unless accepted
  // kDeferred: who would have to leave, all of them, and the CPUs they have.
  std::vector<Holder> leave{};
};

struct PlanReport {
  std::string policy{};                // "static"
  std::vector<std::string> options{};  // of the policy: "full-pcpus-only"
  TopologyOptions topology_options{};
  CpuSet reserved{};
  CpuSet shared{};                       // the shared pool after all pods
  CpuSet free{};                         // CPUs of it that may still be given
  int free_count = 0;                    // so many of them: some may have to stay shared
  std::int64_t requested_milli = 0;      // thousandths of CPUs, of all admitted pods
  std::int64_t allocatable_milli = 0;    // of all CPUs that are not reserved
  std::vector<PlannedPod> pods{};        // as they are when all resizes have been applied
  std::vector<PlannedResize> resizes{};  // in the order asked for
};

// A container that holds CPUs when all pods are in and their init containers are done.
struct Owner {
  const PlannedPod* pod;
  const PlannedContainer* container;
};

// In order of admission. They point into the report.
std::vector<Owner> owners(const PlanReport& report);

}  // namespace corehold
