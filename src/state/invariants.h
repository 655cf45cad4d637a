// SPDX-License-Identifier: Apache-2.0
//
// The invariants of a State: what must hold after every edit, on load, and in
// every test, whatever happened before. Each has a name, which tests and messages
// use.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"
#include "state/state.h"
#include "topology/topology.h"

namespace corehold {

// What the invariants are measured against. `topology` must outlive it.
struct Rules {
  const Topology& topology;
  CpuSet reserved{};
  bool strict_reservation = false;  // reserved CPUs are outside the shared pool
  bool full_pcpus_only = false;     // no core is split between a container and others
  // Init containers, whose CPUs later containers of their pod may reuse. Not given:
  // containers of one pod may overlap.
  std::optional<std::set<ContainerRef>> init_containers{};
};

enum class Invariant {
  kCpuOwnedOnce,        // every online CPU is shared, or one pod's, or strictly reserved
  kReservedNotGiven,    // reserved CPUs are never exclusive
  kPromisedKept,        // promised is a subset of assigned
  kPendingBetween,      // pending is a proper subset of assigned and contains promised
  kCoresWhole,          // full-pcpus-only: exclusive containers hold whole cores
  kSharedPoolNotEmpty,  // somebody must be able to run
};

struct Violation {
  Invariant invariant;
  std::string message;
};

std::string_view name_of(Invariant invariant);

// Every violation, in the order of the enum; empty when the state is sound.
std::vector<Violation> violations(const State& state, const Rules& rules);

}  // namespace corehold
