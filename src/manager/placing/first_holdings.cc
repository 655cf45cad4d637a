// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/first_holdings.h"

#include <vector>

#include <fmt/format.h>

#include "manager/placing/facts.h"

namespace corehold {
namespace {

// Whether nobody else has these CPUs and the container may.
bool can_keep(const PlacingTurn& turn, const CpuSet& cpus, int count) {
  const State& state = turn.placing.bookings.cpus;
  const Rules& rules = turn.rules.invariants;
  if (cpus.size() != count || !cpus.is_subset_of(state.shared)) return false;
  if (cpus.intersects(rules.reserved) || cpus == state.shared) return false;
  return !rules.full_pcpus_only || rules.topology.whole_cores_within(cpus) == cpus;
}

}  // namespace

void hold_what_runs(PlacingTurn& turn, PlacedPod& pod) {
  State& cpus = turn.placing.bookings.cpus;
  for (const Container* container : in_starting_order(pod.pod)) {
    const PlacedContainer& state = pod.containers.at(container->name);
    const ContainerRef ref{pod.pod.uid, container->name};
    if (state.presence != Presence::kRunning || state.exclusive == 0) continue;
    if (cpus.find(ref) != nullptr) continue;
    if (!can_keep(turn, state.confirmed, state.exclusive)) {
      turn.warn(ref, "CpusLost",
                fmt::format("container {} runs on CPUs {}, which cannot be its own; it shares "
                            "until it can be given {} others",
                            ref.container, state.confirmed.str(), state.exclusive));
      continue;
    }
    apply(cpus, SetShared{cpus.shared - state.confirmed});
    apply(cpus, Assign{ref, state.confirmed});
  }
}

void drop_strange_holdings(PlacingTurn& turn) {
  State& cpus = turn.placing.bookings.cpus;
  std::vector<ContainerRef> strange;
  for (const auto& [uid, containers] : cpus.pods) {
    for (const auto& [name, holding] : containers) {
      const ContainerRef ref{uid, name};
      if (find_container(turn.placing, ref) == nullptr) strange.push_back(ref);
    }
  }
  for (const ContainerRef& ref : strange) {
    apply(cpus, turn.rules.admission.policy.release(cpus, ref));
  }
}

}  // namespace corehold
