// SPDX-License-Identifier: Apache-2.0
//
// AdmittingNode: a machine with a static policy, memory and devices that pods come to and
// leave, for tests. It can say what is wrong with its books, which must never be anything.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "policy/admission.h"
#include "policy/resize/resize.h"
#include "policy/static_policy.h"

namespace corehold {

struct NodeSetup {
  StaticConfig config{};  // the topology policy in it is set from the options below
  TopologyOptions topology{};
  MemoryInventory memory{};
  DeviceInventory devices{};
};

class AdmittingNode {
 public:
  // Fails where StaticPolicy::make does. REQUIRES: a sound inventory of devices.
  static Result<AdmittingNode> make(Topology topology, NodeSetup setup);

  // Decides, and goes on from there. A refusal changes nothing.
  Decision admit(const Pod& pod);
  void release(const std::string& pod_uid);

  // Decides, and goes on from there: CPUs are as after begin_resize(). A refusal changes nothing.
  ResizeDecision begin_resize(const Pod& wanted);
  // The runtime has confirmed that a container of that resize has shrunk.
  void finish_shrink(const std::string& pod_uid, const std::string& container,
                     const ResizeDecision& decision);
  // Both, for all containers that shrink.
  ResizeDecision resize(const Pod& wanted);

  // What is wrong with the bookings: an invariant of the CPUs, memory that does not add
  // up, a device held twice. Empty: nothing.
  std::string problem() const;

  AdmissionRules rules() const;
  const Bookings& bookings() const { return bookings_; }
  const std::map<std::string, Pod>& pods() const { return pods_; }
  // The CPUs of "pod/container"; "none" if it holds none.
  std::string cpus(const std::string& pod_uid, const std::string& container) const;

  ResizeGates gates{.in_place = true, .exclusive_cpus = true};

 private:
  AdmittingNode(std::unique_ptr<Topology> topology, NodeSetup setup)
      : topology_(std::move(topology)), setup_(std::move(setup)) {}

  std::string cpu_problem() const;
  std::string memory_problem() const;
  std::string device_problem() const;

  std::unique_ptr<Topology> topology_;  // the policy refers to it; a node may move
  NodeSetup setup_;
  std::optional<StaticPolicy> policy_{};
  Bookings bookings_{};
  std::map<std::string, Pod> pods_{};  // admitted, by UID
};

// "main=0-3 memory@0 example.com/nic=a,b; proxy=shared", or "Reason: message".
std::string text_of(const Decision& decision);
// "main=0-3 side=4-7<main:4-5", the CPUs after "<" being waited for; "unchanged", or
// "Deferred: message".
std::string text_of(const ResizeDecision& decision);

}  // namespace corehold
