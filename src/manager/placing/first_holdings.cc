// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/first_holdings.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "manager/placing/facts.h"

namespace corehold {
namespace {

// Whether nobody else has these CPUs and the container may.
bool can_keep(const PlacingTurn& turn, const State& state, const CpuSet& cpus, int count) {
  const Rules& rules = turn.rules.invariants;
  if (cpus.size() != count || !cpus.is_subset_of(state.shared)) return false;
  if (cpus.intersects(rules.reserved) || cpus == state.shared) return false;
  return !rules.full_pcpus_only || rules.topology.whole_cores_within(cpus) == cpus;
}

// The containers that hold one of these CPUs, if none of them is there.
std::vector<ContainerRef> absent_holders(const PlacingTurn& turn, const CpuSet& cpus) {
  std::vector<ContainerRef> holders;
  for (const auto& [uid, containers] : turn.placing.bookings.cpus.pods) {
    for (const auto& [name, holding] : containers) {
      if (!holding.assigned.intersects(cpus)) continue;
      const PlacedContainer* holder = find_container(turn.placing, {uid, name});
      if (holder != nullptr && holder->presence != Presence::kAbsent) return {};
      holders.push_back({uid, name});
    }
  }
  return holders;
}

// Whether the container holds the CPUs that it runs on from now on. Holders that are not there have
// to yield: the checkpoint that names them is older than what runs.
bool hold(PlacingTurn& turn, const ContainerRef& ref, const PlacedContainer& state) {
  State& cpus = turn.placing.bookings.cpus;
  const std::vector<ContainerRef> absent = absent_holders(turn, state.confirmed);
  State without = cpus;
  for (const ContainerRef& holder : absent) {
    apply(without, turn.rules.admission.policy.release(without, holder));
  }
  if (!can_keep(turn, without, state.confirmed, state.exclusive)) return false;
  for (const ContainerRef& holder : absent) {
    turn.warn(holder, "CpusLost",
              fmt::format("container {} held CPUs {} by the checkpoint and does not run; container "
                          "{} of pod {} runs there and keeps {}",
                          holder.container, cpus.find(holder)->assigned.str(), ref.container,
                          ref.pod, state.confirmed.str()));
  }
  cpus = std::move(without);
  apply(cpus, SetShared{cpus.shared - state.confirmed});
  apply(cpus, Assign{ref, state.confirmed});
  return true;
}

}  // namespace

void hold_what_runs(PlacingTurn& turn, PlacedPod& pod) {
  const State& cpus = turn.placing.bookings.cpus;
  for (const Container* container : in_starting_order(pod.pod)) {
    const PlacedContainer& state = pod.containers.at(container->name);
    const ContainerRef ref{pod.pod.uid, container->name};
    if (state.presence != Presence::kRunning || state.exclusive == 0) continue;
    if (cpus.find(ref) != nullptr) continue;
    if (hold(turn, ref, state)) continue;
    turn.warn(ref, "CpusLost",
              fmt::format("container {} runs on CPUs {}, which cannot be its own; it shares "
                          "until it can be given {} others",
                          ref.container, state.confirmed.str(), state.exclusive));
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
