// SPDX-License-Identifier: Apache-2.0
//
// step(): the whole of what a node decides. A command changes what is wanted or what is
// known; then everything that is wanted, not yet so, and permitted by what has been
// confirmed becomes an effect. The promises:
//
// - Exclusive before start. A container is started on CPUs only when the checkpoint that
//   gives them to it is saved and nobody else can be running there: every shared
//   container's smaller cpuset is confirmed.
// - Nothing lost. CPUs go back to the pool only when the runtime has confirmed that their
//   holder is gone and the checkpoint that frees them is saved.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "features/own_features.h"
#include "manager/command.h"
#include "manager/effect.h"
#include "manager/node_state.h"
#include "state/invariants.h"

namespace corehold {

// What a node is run under. The referred must outlive it.
struct ManagerRules {
  AdmissionRules admission;
  Rules invariants;             // of the static policy; unused with policy none
  bool pins_cpus = true;        // false with policy none: cpusets are never touched
  bool memory_pinning = false;  // cpuset.mems follows the NUMA nodes of exclusive CPUs
  std::chrono::milliseconds reconcile_period{10'000};
  ResizeGates resize{};
  std::chrono::milliseconds scale_delay{};  // between being told and losing CPUs
  bool restart_all = false;                 // gate RestartAllContainersOnContainerExits
  std::optional<OwnFeatures> features{};    // no value: pods are not asked what they need
};

struct Outcome {
  NodeState node{};
  std::vector<Effect> effects{};
};

// The first command of a life is Recover, on a NodeState of which only `bookings` are set:
// the books of the node when nobody is there.
Outcome step(const ManagerRules& rules, NodeState node, const Command& command, const Now& now);

// Several that have come together: each is taken in its turn, and only then is it decided
// what follows, once for all.
Outcome step(const ManagerRules& rules, NodeState node, std::span<const Command> commands,
             const Now& now);

// Every broken promise: those of the State (state/invariants.h), and two containers that
// may run on a CPU that one of them holds. Empty when all is well.
std::vector<std::string> violations(const ManagerRules& rules, const NodeState& node);

// What is shown of a pod: "Pending", "Running", "Succeeded", "Failed".
std::string phase_of(const PodState& pod);

}  // namespace corehold
