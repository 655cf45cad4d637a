// SPDX-License-Identifier: Apache-2.0
//
// A node before anybody is there: a machine with its policy and empty books, as a
// configuration describes them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "policy/admission.h"
#include "policy/policy.h"
#include "topology/topology.h"

namespace corehold {

struct NodeSetup {
  // Fails with kInvalid when the configuration does not suit the machine. `topology` must
  // outlive it.
  static Result<NodeSetup> make(const Topology& topology, const Config& config);

  AdmissionRules rules() const;

  const Topology* topology;  // never null
  std::unique_ptr<Policy> policy;
  std::vector<std::string> options{};  // of the policy: "full-pcpus-only"
  TopologyOptions topology_options{};
  PodGates pod_gates{};
  CpuSet reserved{};
  CpuSet givable{};    // CPUs that somebody may have exclusively
  int min_shared = 1;  // CPUs that the shared pool keeps
  bool full_pcpus_only = false;
  FeatureGates gates{};
  std::chrono::milliseconds scale_delay{};       // before CPUs are taken from a container
  std::chrono::milliseconds reconcile_period{};  // of cpusets
  Bookings empty{};
};

// What is assumed where nobody has configured anything: policy static with the core of the
// lowest CPU reserved (on a machine of one core that CPU alone), topology manager policy
// none.
Config planning_defaults(const Topology& topology);

}  // namespace corehold
