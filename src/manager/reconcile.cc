// SPDX-License-Identifier: Apache-2.0
#include "manager/reconcile.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/foreign/adopting.h"
#include "manager/placing/drift.h"
#include "manager/placing/facts.h"
#include "manager/placing/fence.h"
#include "manager/running/facts.h"
#include "manager/running/lifecycle.h"
#include "manager/running/saving.h"

namespace corehold {
namespace {

void await_next(const Turn& turn) {
  turn.emit(
      StartTimer{.timer = {TimerKey::Kind::kReconcile, {}}, .after = turn.rules.reconcile_period});
}

void compare(NodeState& node, RunningTurn& turn, const ContainerRef& ref, const RunContainer& run,
             const SeenContainer* seen) {
  const PlacedContainer& state = *find_container(node.placing, ref);
  if (!is_news(state, node.observing_since)) return;
  const bool runs = seen != nullptr && seen->running;
  if (is_running(run.stage) && !runs) {
    record_exit(turn, ref, seen != nullptr && seen->exit ? *seen->exit : unknown_exit());
  } else if (is_running(run.stage)) {
    check_drift(turn.placing, *seen, node.observing_since);
  } else if (runs) {
    turn.warn(ref, "UnexpectedContainer",
              fmt::format("container {} was found running", ref.container));
    take_in(turn, *seen);
  }
}

// Nothing is known of the container's pod any more: it has no right to run.
void end_stranger(const Turn& turn, const SeenContainer& seen) {
  turn.warn(seen.container, "UnexpectedContainer",
            fmt::format("container {} of an unknown pod was found running and is killed",
                        seen.container.container));
  turn.emit(StopContainer{.container = seen.container});
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

void take_in(RunningTurn& turn, const SeenContainer& seen) {
  take_in(turn.placing, seen);
  RunPod& pod = turn.running.pods.at(seen.container.pod);
  RunContainer& state = pod.containers.at(seen.container.container);
  ContainerRecord& record = pod.record.containers.at(seen.container.container);
  state.stage = Stage::kRunning;
  state.has_remains = true;
  turn.touch(seen.container.pod);
  ContainerRecord now_so = record;
  now_so.attempt = seen.attempt;
  now_so.exits = seen.attempt;
  now_so.ended = record.ended && is_stopping(pod);
  now_so.started_at = seen.started_at == WallTime{} ? turn.now.wall : seen.started_at;
  if (now_so == record) return;
  record = now_so;
  mark_changed(turn, pod);
}

void on_reconcile_timer(NodeState& node, const Turn& turn) {
  if (node.observing) return;
  node.observing = true;
  node.observing_since = node.placing.turn;
  node.gone_meanwhile.clear();
  turn.emit(Observe{});
}

void on_observed(NodeState& node, RunningTurn& turn, const Observed& command) {
  if (!node.observing) return;
  node.observing = false;
  set_online(turn.placing, command.online);
  recheck_fence(turn.placing);
  std::map<ContainerRef, const SeenContainer*> seen;
  for (const SeenContainer& container : command.seen) seen[container.container] = &container;
  for (auto& [uid, pod] : turn.running.pods) {
    if (pod.store.is_forgetting()) continue;
    for (auto& [name, state] : pod.containers) {
      const auto found = seen.find({uid, name});
      compare(node, turn, {uid, name}, state, found == seen.end() ? nullptr : found->second);
    }
  }
  for (const auto& [ref, container] : seen) {
    if (!container->running || node.gone_meanwhile.contains(ref.pod)) continue;
    if (find_container(turn.running, ref) == nullptr) end_stranger(turn, *container);
  }
  node.gone_meanwhile.clear();
  await_next(turn);
}

void on_observed(NodeState& node, ForeignTurn& turn, const Observed& command) {
  if (!node.observing) return;
  node.observing = false;
  set_online(turn.placing, command.online);
  recheck_fence(turn.placing);
  on_seen(turn, command.seen, node.observing_since, node.gone_meanwhile);
  node.gone_meanwhile.clear();
  await_next(turn);
}

void on_observe_failed(NodeState& node, const Turn& turn, const ObserveFailed& command) {
  if (!node.observing) return;
  node.observing = false;
  turn.warn({}, "FailedObserve",
            fmt::format("cannot see what is running: {}", command.error.message));
  await_next(turn);
}

}  // namespace corehold
