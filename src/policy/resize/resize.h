// SPDX-License-Identifier: Apache-2.0
//
// Resize in place of one pod's containers (KEP-5554): whether their new numbers of CPUs
// can be had, and which CPUs these are; for all containers or for none. Decides only. A
// growing container keeps what it has (A), a shrinking one what it was promised (P);
// what shrinks is a function of A, P, the new number, machine and options alone. A resize
// that fits once its own shrinks have been applied is accepted, and tells which container
// waits for which.
//
//     decide_resize -> accepted -> save begin_resize(); tell and delay the shrinks
//                      shrink of X confirmed by the runtime -> save finish_shrink(X)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/admission.h"

namespace corehold {

// The feature gates of a resize.
struct ResizeGates {
  bool in_place = true;         // InPlacePodVerticalScaling
  bool exclusive_cpus = false;  // InPlacePodVerticalScalingExclusiveCPUs
};

enum class ResizeVerdict {
  kAccepted,
  kDeferred,    // possible, but not now: to be asked again when CPUs come free
  kInfeasible,  // not possible whatever else leaves
};

// "Accepted", "Deferred", "Infeasible".
std::string_view name_of(ResizeVerdict verdict);

// One exclusive container whose CPUs change.
struct ContainerResize {
  std::string container{};
  CpuSet before{};
  CpuSet after{};  // contains `before`, or is contained in it
  // Where the new CPUs of a growing container come from: they are free now, or shrinking
  // containers of the pod free them, by their names.
  CpuSet from_shared{};
  std::map<std::string, CpuSet> from{};

  bool grows() const { return after.size() > before.size(); }
  // Grows, and waits for nobody.
  bool is_provided_for() const { return grows() && from.empty(); }
  bool operator==(const ContainerResize&) const = default;
};

// Why not, or not now.
struct ResizeRefusal {
  // The error of KEP-5554 that it is, and that the message begins with:
  // inconsistentCPUAllocationError, prohibitedCPUAllocationError, getPromisedCPUSetError;
  // "" for all other causes.
  std::string error{};
  std::string container{};  // at which it failed; "" for the pod as a whole
  std::string text{};       // the kubelet's, where it has one
  std::string message{};    // contains `text`, with who and the numbers
  // kDeferred: UIDs of pods without which it would be accepted; with any one of them less
  // gone it would not. Those on the pod's NUMA nodes come first, and of these, as of the
  // others, those that hold most, so that they are few.
  std::vector<std::string> held_by{};

  bool operator==(const ResizeRefusal&) const = default;
};

struct ResizeDecision {
  ResizeVerdict verdict = ResizeVerdict::kAccepted;
  // Accepted: the containers whose CPUs change, first those that shrink, then those that grow,
  // each in starting order. None: CPUs stay as they are, and only quota, weight or memory change.
  std::vector<ContainerResize> containers{};
  std::optional<ResizeRefusal> refusal{};  // unless accepted

  bool operator==(const ResizeDecision&) const = default;
};

// Whether pod `now` can become `wanted`, which differs from it in resources alone. Every
// exclusive container is held against the CPUs it has, so asking again after a restart in
// the middle of a shrink gives the same shrink. Pending shrinks do not count: their CPUs are still
// their containers'. The bookings are not copied: but for a deferred resize, which names the
// pods in its way, the cost does not depend on how many other pods there are.
//
// Infeasible: a gate is off, pod-level resources, an init container is to change, the QoS
// class would change, a container would move between shared and exclusive CPUs, less than
// promised, nothing promised on record, no whole cores under full-pcpus-only, memory under
// a memory manager, or more than could be had if all other pods left, topology policy
// included.
// REQUIRES: both pods have passed validate() and have the same containers.
ResizeDecision decide_resize(const AdmissionRules& rules, const ResizeGates& gates,
                             const Bookings& before, const Pod& now, const Pod& wanted);

// What is to be saved when an accepted resize begins: CPUs that are free now become the
// growing containers', also of one that waits for more; shrinks become pending, and shrinks
// of an earlier resize of the pod that are not asked for any more are over.
Plan begin_resize(const State& state, const std::string& pod_uid, const ResizeDecision& decision);

// What is to be saved when the runtime has confirmed that `container` runs on its new,
// smaller set: those of its CPUs that growing containers wait for are theirs, the others
// are shared. Where a waiting container has gone meanwhile, its part is shared too. A
// container that does not shrink, or is gone: an empty Plan.
Plan finish_shrink(const State& state, const std::string& pod_uid, const std::string& container,
                   const ResizeDecision& decision);

}  // namespace corehold
