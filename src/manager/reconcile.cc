// SPDX-License-Identifier: Apache-2.0
#include "manager/reconcile.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/saving.h"
#include "manager/taking.h"

namespace corehold {
namespace {

void await_next(Turn& turn) {
  turn.emit(
      StartTimer{.timer = {TimerKey::Kind::kReconcile, {}}, .after = turn.rules.reconcile_period});
}

// Whether the kernel lets the container run where it was put.
bool is_in_place(const Turn& turn, const ContainerRef& ref, const ContainerState& state,
                 const SeenContainer& seen) {
  if (!turn.rules.pins_cpus) return true;
  if (!wanted_cpus(turn.rules, turn.node, ref)) return true;
  return !seen.strayed && seen.cpus - turn.node.offline == state.confirmed - turn.node.offline;
}

void report_drift(Turn& turn, const ContainerRef& ref, ContainerState& state,
                  const SeenContainer& seen) {
  state.strayed = seen.cpus;
  turn.emit(CountMetric{"corehold_drift_repairs_total", {}});
  turn.warn(
      ref, "CpusetDriftRepaired",
      fmt::format("container {} was found on CPUs {}{}, not {}; it is put back", ref.container,
                  seen.cpus.str(), seen.strayed ? ", with threads outside its confines" : "",
                  state.confirmed.str()));
}

void compare(Turn& turn, const ContainerRef& ref, ContainerState& state,
             const SeenContainer* seen) {
  if (state.touched || state.asked) return;
  const bool runs = seen != nullptr && seen->running;
  if (state.stage == Stage::kRunning && !runs) {
    record_exit(turn, ref, seen != nullptr && seen->exit ? *seen->exit : unknown_exit());
  } else if (state.stage == Stage::kRunning) {
    if (!state.strayed && !is_in_place(turn, ref, state, *seen)) {
      report_drift(turn, ref, state, *seen);
    }
  } else if (runs) {
    turn.warn(ref, "UnexpectedContainer",
              fmt::format("container {} was found running", ref.container));
    take_in(turn, *seen);
  }
}

// Nothing is known of its pod any more: it has no right to run.
void end_stranger(Turn& turn, const SeenContainer& seen) {
  turn.warn(seen.container, "UnexpectedContainer",
            fmt::format("container {} of an unknown pod was found running and is killed",
                        seen.container.container));
  turn.emit(SignalContainer{.container = seen.container, .signal = StopSignal::kKill});
}

}  // namespace

Pod pod_of_stranger(const SeenContainer& seen) {
  if (seen.pod && seen.pod->find(seen.container.container) != nullptr) {
    Pod pod = *seen.pod;
    pod.uid = seen.container.pod;
    return pod;
  }
  Pod pod{.name = seen.container.pod, .uid = seen.container.pod, .restart_policy = "Never"};
  pod.containers.push_back({.name = seen.container.container});
  set_defaults(pod);
  return pod;
}

void take_in(Turn& turn, const SeenContainer& seen) {
  PodState& pod = turn.node.pods.at(seen.container.pod);
  ContainerState& state = pod.containers.at(seen.container.container);
  ContainerRecord& record = pod.record.containers.at(seen.container.container);
  state.stage = Stage::kRunning;
  state.confirmed = seen.cpus;
  watch_placed(turn.node, seen.container, state);
  state.asked.reset();
  state.terminating = false;
  state.removed = false;
  state.touched = true;
  // Its cpuset may name offline CPUs as well; that cannot be seen.
  const CpuSet possible = seen.cpus | turn.node.offline;
  const auto wanted = wanted_cpus(turn.rules, turn.node, seen.container);
  if (wanted && (seen.strayed || !possible.is_subset_of(*wanted))) state.strayed = possible;
  // None of its own is online: the kernel lets it run wherever it finds a place.
  if (!wanted && turn.rules.pins_cpus) state.strayed = possible;
  const Container* container = pod.record.pod.find(seen.container.container);
  state.terms.reset();
  if (!record.actual && container != nullptr) {
    state.terms = terms_of(turn.node, seen.container, *container);
  }
  ContainerRecord now_so = record;
  now_so.attempt = seen.attempt;
  now_so.exits = seen.attempt;
  now_so.ended = record.ended && is_stopping(pod);
  now_so.started_at = seen.started_at == WallTime{} ? turn.now.wall : seen.started_at;
  if (now_so == record) return;
  record = now_so;
  mark_changed(pod);
}

namespace {

// Whoever holds CPUs that have gone is told what is left of them.
void warn_holders(Turn& turn, const CpuSet& lost, const CpuSet& offline) {
  for (const auto& [uid, containers] : turn.node.durable.pods) {
    for (const auto& [name, holding] : containers) {
      const CpuSet gone = holding.assigned & lost;
      if (gone.empty()) continue;
      const CpuSet left = holding.assigned - offline;
      turn.warn(
          {uid, name}, "CpusOffline",
          left.empty()
              ? fmt::format("CPUs {} of container {} went offline; it has no other", gone.str(),
                            name)
              : fmt::format("CPUs {} of container {} went offline; {} are left until they are back",
                            gone.str(), name, left.str()));
    }
  }
}

}  // namespace

void set_online(Turn& turn, const CpuSet& online) {
  if (online.empty()) return;
  const CpuSet offline = turn.rules.admission.topology.cpus() - online;
  const CpuSet lost = offline - turn.node.offline;
  const CpuSet back = turn.node.offline - offline;
  if (!lost.empty()) {
    turn.warn({}, "CpusOffline",
              fmt::format("CPUs {} went offline; nobody is given them", lost.str()));
    warn_holders(turn, lost, offline);
  }
  if (!back.empty()) {
    turn.note({}, "CpusOnline", fmt::format("CPUs {} are online again", back.str()));
  }
  // What waited for CPUs that have gone may wait in vain now, and be told so.
  if (offline != turn.node.offline) ++turn.node.freed;
  turn.node.offline = offline;
}

void on_reconcile_timer(Turn& turn) {
  if (turn.node.observing) return;
  turn.node.observing = true;
  turn.node.gone_meanwhile.clear();
  for (auto& [uid, pod] : turn.node.pods) {
    for (auto& [name, state] : pod.containers) state.touched = false;
  }
  turn.emit(Observe{});
}

void on_observed(Turn& turn, const Observed& command) {
  if (!turn.node.observing) return;
  turn.node.observing = false;
  set_online(turn, command.online);
  std::map<ContainerRef, const SeenContainer*> seen;
  for (const SeenContainer& container : command.seen) seen[container.container] = &container;
  for (auto& [uid, pod] : turn.node.pods) {
    if (pod.forgetting) continue;
    for (auto& [name, state] : pod.containers) {
      const auto found = seen.find({uid, name});
      compare(turn, {uid, name}, state, found == seen.end() ? nullptr : found->second);
    }
  }
  for (const auto& [ref, container] : seen) {
    if (!container->running || turn.node.gone_meanwhile.contains(ref.pod)) continue;
    if (find_container(turn.node, ref) == nullptr) end_stranger(turn, *container);
  }
  turn.node.gone_meanwhile.clear();
  await_next(turn);
}

void on_observe_failed(Turn& turn, const ObserveFailed& command) {
  if (!turn.node.observing) return;
  turn.node.observing = false;
  turn.warn({}, "FailedObserve",
            fmt::format("cannot see what is running: {}", command.error.message));
  await_next(turn);
}

}  // namespace corehold
