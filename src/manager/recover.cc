// SPDX-License-Identifier: Apache-2.0
#include "manager/recover.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/placing/drift.h"
#include "manager/placing/facts.h"
#include "manager/placing/first_holdings.h"
#include "manager/placing/placing.h"
#include "manager/reconcile.h"
#include "manager/running/facts.h"
#include "manager/running/lifecycle.h"
#include "manager/running/saving.h"

namespace corehold {
namespace {

void take_records(RunningTurn& turn, const std::vector<PodRecord>& records) {
  for (const PodRecord& record : records) {
    add_pod(turn, record).store.has_any = true;
    turn.running.next_sequence = std::max(turn.running.next_sequence, record.sequence + 1);
  }
}

// A pod that the store does not know, because of a container of it that runs.
void adopt(RunningTurn& turn, const SeenContainer& seen) {
  const std::string& uid = seen.container.pod;
  const RunPod* known = find_pod(turn.running, uid);
  if (known == nullptr) {
    const Pod pod = pod_of_stranger(seen);
    mark_changed(turn, add_pod(turn, {.pod = pod,
                                      .sequence = turn.running.next_sequence++,
                                      .created_at = turn.now.wall,
                                      .grace = termination_grace(pod)}));
  } else {
    const RunPod before = *known;
    const PlacedPod placed_before = turn.placing.placing.pods.at(uid);
    PodRecord record = before.record;
    record.pod.containers.push_back({.name = seen.container.container});
    RunPod& pod = add_pod(turn, std::move(record));
    PlacedPod& placed = turn.placing.placing.pods.at(uid);
    for (const auto& [name, state] : before.containers) {
      pod.containers.at(name) = state;
      placed.containers.at(name) = placed_before.containers.at(name);
    }
    pod.store.has_any = before.store.has_any;
    mark_changed(turn, pod);
  }
  turn.warn(seen.container, "Adopted",
            fmt::format("container {} runs without a record of it and is taken in",
                        seen.container.container));
}

// A container that has ended, of a pod that is known.
void take_ended(RunningTurn& turn, const SeenContainer& seen) {
  RunPod& pod = turn.running.pods.at(seen.container.pod);
  ContainerRecord& record = pod.record.containers.at(seen.container.container);
  pod.containers.at(seen.container.container).has_remains = true;
  if (seen.attempt < record.exits) return;
  record.exits = seen.attempt;
  if (seen.started_at != WallTime{}) record.started_at = seen.started_at;
  record_exit(turn, seen.container, seen.exit ? *seen.exit : unknown_exit());
}

void take_seen(RunningTurn& turn, const Recover& command) {
  const std::vector<SeenContainer>& all = command.seen;
  for (const SeenContainer& seen : all) {
    const bool known = find_container(turn.running, seen.container) != nullptr;
    if (seen.running) {
      if (!known) adopt(turn, seen);
      take_in(turn, seen);
    } else if (known) {
      take_ended(turn, seen);
    }
  }
  // What ended strangers have left. Not before all running ones are known.
  for (const SeenContainer& seen : all) {
    if (seen.running || find_container(turn.running, seen.container) != nullptr) continue;
    turn.emit(RemoveContainer{seen.container});
    if (find_pod(turn.running, seen.container.pod) == nullptr &&
        command.forgotten.contains(seen.container.pod)) {
      turn.emit(RemovePodFiles{seen.container.pod});
    }
  }
}

// Containers that ran when the last record was written and of which nothing is left.
void miss_vanished(RunningTurn& turn) {
  for (auto& [uid, pod] : turn.running.pods) {
    for (auto& [name, state] : pod.containers) {
      if (is_up(state.stage)) continue;
      if (pod.record.containers.at(name).started_at == WallTime{}) continue;
      record_exit(turn, {uid, name}, unknown_exit());
    }
  }
}

std::vector<RunPod*> by_sequence(RunningState& running) {
  std::vector<RunPod*> pods;
  pods.reserve(running.pods.size());
  for (auto& [uid, pod] : running.pods) pods.push_back(&pod);
  std::sort(pods.begin(), pods.end(), [](const RunPod* a, const RunPod* b) {
    return a->record.sequence < b->record.sequence;
  });
  return pods;
}

// Books what the pod's record says it holds of memory and devices.
void restore_bookings(PlacingTurn& turn, const std::string& uid, const PodRecord& record) {
  Bookings& bookings = turn.placing.bookings;
  const auto report = [&](const std::string& container, const Result<void>& restored) {
    if (!restored) turn.warn({uid, container}, "FailedRestore", restored.error().message);
  };
  for (const auto& [container, holding] : record.memory) {
    report(container, bookings.memory.restore(uid, container, holding));
  }
  for (const auto& [container, holding] : record.devices) {
    report(container, bookings.devices.restore(uid, container, holding));
  }
}

// An admission that was under way starts again from the beginning.
void withdraw(RunningTurn& turn, RunPod& pod) {
  PlacingState& placing = turn.placing.placing;
  const std::string& uid = pod.record.pod.uid;
  release(turn.rules.admission, placing.bookings, uid);
  if (pod.record.started_at == WallTime{}) return;
  pod.record.started_at = {};
  placing.pods.at(uid).is_new = true;
  pod.record.memory.clear();
  pod.record.devices.clear();
  mark_changed(turn, pod);
}

void settle(RunningTurn& turn, RunPod& pod) {
  if (has_finished(pod)) return;
  if (is_quiet(pod) && is_run(pod.record.source)) {
    pod.record.deleted_at = turn.now.wall;
    mark_changed(turn, pod);
    return;
  }
  PlacedPod& placed = turn.placing.placing.pods.at(pod.record.pod.uid);
  const bool admitted = pod.record.started_at != WallTime{} || !is_quiet(pod);
  // A pod to which the checkpoint gives its CPUs may have been admitted and its record be lost in a
  // power cut: it is admitted again with these CPUs, which no other pod is given before.
  const bool has_cpus = turn.placing.placing.bookings.cpus.pods.contains(pod.record.pod.uid) &&
                        has_all_cpus(turn.placing.placing, placed);
  if (admitted && has_all_cpus(turn.placing.placing, placed)) {
    placed.standing = Standing::kAdmitted;
    placed.is_new = false;
    if (pod.record.started_at != WallTime{}) return;
    pod.record.started_at = turn.now.wall;
    mark_changed(turn, pod);
  } else if (is_quiet(pod) && !has_cpus) {
    withdraw(turn, pod);
  }
}

}  // namespace

void on_recover(RunningTurn& turn, const Recover& command) {
  PlacingState& placing = turn.placing.placing;
  placing.bookings.cpus = command.cpus;
  placing.durable = command.cpus;
  placing.cordoned = command.cordoned;
  set_online(turn.placing, command.online);
  take_records(turn, command.pods);
  take_seen(turn, command);
  miss_vanished(turn);
  drop_strange_holdings(turn.placing);
  for (RunPod* pod : by_sequence(turn.running)) {
    const std::string& uid = pod->record.pod.uid;
    if (!has_finished(*pod)) restore_bookings(turn.placing, uid, pod->record);
    if (turn.rules.pins_cpus) hold_what_runs(turn.placing, placing.pods.at(uid));
    for (const auto& [name, record] : pod->record.containers) {
      take(turn.placing, SetDone{.container = {uid, name}, .is_done = record.ended});
    }
  }
  for (RunPod* pod : by_sequence(turn.running)) settle(turn, *pod);
  // Nothing is done to any container before what was found out is durable.
  if (turn.rules.pins_cpus) ++placing.revision;
  turn.emit(
      StartTimer{.timer = {TimerKey::Kind::kReconcile, {}}, .after = turn.rules.reconcile_period});
}

}  // namespace corehold
