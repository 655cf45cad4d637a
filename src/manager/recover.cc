// SPDX-License-Identifier: Apache-2.0
#include "manager/recover.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/placement.h"
#include "manager/reconcile.h"
#include "manager/saving.h"

namespace corehold {
namespace {

void take_records(Turn& turn, const std::vector<PodRecord>& records) {
  for (const PodRecord& record : records) {
    PodState pod = new_pod(turn.rules, record);
    pod.in_store = true;
    pod.saved = true;
    turn.node.next_sequence = std::max(turn.node.next_sequence, record.sequence + 1);
    turn.node.pods.insert_or_assign(record.pod.uid, std::move(pod));
  }
}

// A pod that the store does not know, because of a container of it that runs.
void adopt(Turn& turn, const SeenContainer& seen) {
  const std::string& uid = seen.container.pod;
  PodState* known = find_pod(turn.node, uid);
  PodRecord record;
  if (known == nullptr) {
    record.pod = pod_of_stranger(seen);
    record.sequence = turn.node.next_sequence++;
    record.created_at = turn.now.wall;
    record.grace = termination_grace(record.pod);
  } else {
    record = known->record;
    record.pod.containers.push_back({.name = seen.container.container});
  }
  PodState pod = new_pod(turn.rules, std::move(record));
  if (known != nullptr) {
    for (const auto& [name, state] : known->containers) pod.containers.at(name) = state;
    pod.in_store = known->in_store;
  }
  mark_changed(pod);
  turn.node.pods.insert_or_assign(uid, std::move(pod));
  turn.warn(seen.container, "Adopted",
            fmt::format("container {} runs without a record of it and is taken in",
                        seen.container.container));
}

// One that has ended, of a pod that is known.
void take_ended(Turn& turn, const SeenContainer& seen) {
  PodState& pod = turn.node.pods.at(seen.container.pod);
  ContainerRecord& record = pod.record.containers.at(seen.container.container);
  pod.containers.at(seen.container.container).removed = false;
  if (seen.attempt < record.exits) return;
  record.exits = seen.attempt;
  if (seen.started_at != WallTime{}) record.started_at = seen.started_at;
  record_exit(turn, seen.container, seen.exit ? *seen.exit : unknown_exit());
}

void take_seen(Turn& turn, const std::vector<SeenContainer>& all) {
  for (const SeenContainer& seen : all) {
    const bool known = find_container(turn.node, seen.container) != nullptr;
    if (seen.running) {
      if (!known) adopt(turn, seen);
      take_in(turn, seen);
    } else if (known) {
      take_ended(turn, seen);
    }
  }
  // What ended strangers have left. Not before all running ones are known.
  for (const SeenContainer& seen : all) {
    if (seen.running || find_container(turn.node, seen.container) != nullptr) continue;
    turn.emit(RemoveContainer{seen.container});
    if (find_pod(turn.node, seen.container.pod) == nullptr) {
      turn.emit(RemovePodFiles{seen.container.pod});
    }
  }
}

// Containers that ran when the last record was written and of which nothing is left.
void miss_vanished(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    for (auto& [name, state] : pod.containers) {
      if (state.stage != Stage::kIdle) continue;
      if (pod.record.containers.at(name).started_at == WallTime{}) continue;
      record_exit(turn, {uid, name}, unknown_exit());
    }
  }
}

std::vector<PodState*> by_sequence(NodeState& node) {
  std::vector<PodState*> pods;
  pods.reserve(node.pods.size());
  for (auto& [uid, pod] : node.pods) pods.push_back(&pod);
  std::sort(pods.begin(), pods.end(), [](const PodState* a, const PodState* b) {
    return a->record.sequence < b->record.sequence;
  });
  return pods;
}

// Whether nobody else has these CPUs and the container may.
bool can_keep(const Turn& turn, const CpuSet& cpus, int count) {
  const State& state = turn.node.bookings.cpus;
  const Rules& rules = turn.rules.invariants;
  if (cpus.size() != count || !cpus.is_subset_of(state.shared)) return false;
  if (cpus.intersects(rules.reserved) || cpus == state.shared) return false;
  return !rules.full_pcpus_only || rules.topology.whole_cores_within(cpus) == cpus;
}

// Running containers whose CPUs the checkpoint has lost: they hold what they run on.
void take_what_runs(Turn& turn, const PodState& pod) {
  State& cpus = turn.node.bookings.cpus;
  for (const Container* container : in_starting_order(pod.record.pod)) {
    const ContainerState& state = pod.containers.at(container->name);
    const ContainerRef ref{pod.record.pod.uid, container->name};
    if (state.stage != Stage::kRunning || state.exclusive == 0) continue;
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

void drop_strange_holdings(Turn& turn) {
  State& cpus = turn.node.bookings.cpus;
  std::vector<ContainerRef> strange;
  for (const auto& [uid, containers] : cpus.pods) {
    for (const auto& [name, holding] : containers) {
      const ContainerRef ref{uid, name};
      if (find_container(turn.node, ref) == nullptr) strange.push_back(ref);
    }
  }
  for (const ContainerRef& ref : strange) {
    apply(cpus, turn.rules.admission.policy.release(cpus, ref));
  }
}

// An admission that was under way starts again from the beginning.
void withdraw(Turn& turn, PodState& pod) {
  turn.node.bookings =
      release(turn.rules.admission, std::move(turn.node.bookings), pod.record.pod.uid);
  if (pod.record.started_at == WallTime{}) return;
  pod.record.started_at = {};
  pod.record.memory.clear();
  pod.record.devices.clear();
  mark_changed(pod);
}

void settle(Turn& turn, PodState& pod) {
  if (has_finished(pod)) return;
  if (is_quiet(pod) && is_run(pod.record.source)) {
    pod.record.deleted_at = turn.now.wall;
    mark_changed(pod);
    return;
  }
  const bool admitted = pod.record.started_at != WallTime{} || !is_quiet(pod);
  if (admitted && has_all_cpus(turn.node, pod)) {
    pod.admitted = true;
    if (pod.record.started_at != WallTime{}) return;
    pod.record.started_at = turn.now.wall;
    mark_changed(pod);
  } else if (is_quiet(pod)) {
    withdraw(turn, pod);
  }
}

}  // namespace

void on_recover(Turn& turn, const Recover& command) {
  NodeState& node = turn.node;
  node.bookings.cpus = command.cpus;
  node.durable = command.cpus;
  node.cordoned = command.cordoned;
  set_online(turn, command.online);
  take_records(turn, command.pods);
  take_seen(turn, command.seen);
  miss_vanished(turn);
  drop_strange_holdings(turn);
  for (PodState* pod : by_sequence(node)) {
    if (!has_finished(*pod)) restore_bookings(turn, pod->record.pod.uid, pod->record);
    if (turn.rules.pins_cpus) take_what_runs(turn, *pod);
  }
  for (PodState* pod : by_sequence(node)) settle(turn, *pod);
  // Nothing is done to anybody before what was found out is durable.
  if (turn.rules.pins_cpus) ++node.revision;
  turn.emit(
      StartTimer{.timer = {TimerKey::Kind::kReconcile, {}}, .after = turn.rules.reconcile_period});
}

}  // namespace corehold
