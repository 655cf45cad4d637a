// SPDX-License-Identifier: Apache-2.0
//
// What a node is run under: fixed for the life of the agent.
#pragma once

#include <chrono>
#include <optional>

#include "features/own_features.h"
#include "policy/admission.h"
#include "policy/resize/resize.h"
#include "state/invariants.h"

namespace corehold {

// What runs the containers, and so drives the placing half.
enum class Driver {
  kRunning,  // this agent
  kForeign,  // a runtime for somebody else, which asks
};

// The referred must outlive it.
struct ManagerRules {
  AdmissionRules admission;
  Rules invariants;             // of the static policy; unused with policy none
  bool pins_cpus = true;        // false with policy none: cpusets are never touched
  bool fences = false;          // the rest of the machine is kept off exclusive CPUs
  int min_system_cpus = 0;      // CPUs that nobody holds, at least
  bool memory_pinning = false;  // cpuset.mems follows the NUMA nodes of exclusive CPUs
  std::chrono::milliseconds reconcile_period{10'000};
  ResizeGates resize{};
  std::chrono::milliseconds scale_delay{};  // between being told and losing CPUs
  bool restart_all = false;                 // gate RestartAllContainersOnContainerExits
  Driver driver = Driver::kRunning;
  std::chrono::milliseconds answer_within{1000};  // how long a question may stay open
  std::optional<OwnFeatures> features{};          // no value: pods are not asked what they need
};

}  // namespace corehold
