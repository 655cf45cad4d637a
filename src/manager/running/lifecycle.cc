// SPDX-License-Identifier: Apache-2.0
#include "manager/running/lifecycle.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/placing.h"
#include "manager/running/facts.h"
#include "manager/running/saving.h"
#include "pod/restart_rules.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstBackOff{10'000};
constexpr milliseconds kMostBackOff{300'000};
constexpr milliseconds kLongRun{600'000};  // after which a failure counts as the first
constexpr int kStartError = 128;
constexpr int kKilled = 137;

void back_off(RunningTurn& turn, const ContainerRef& ref, RunContainer& state,
              const ContainerExit& exit) {
  if (exit.finished_at - exit.started_at >= kLongRun) state.failures = 0;
  const int before = state.failures++;
  if (before == 0) return;
  const milliseconds delay = doubled(kFirstBackOff, kMostBackOff, before);
  state.stage = Stage::kBackingOff;
  // The same text each time, so that it is counted rather than repeated.
  turn.warn(ref, "BackOff", fmt::format("Back-off restarting failed container {}", ref.container));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRestart, ref}, .after = delay});
}

// Has the runtime stop the container by then; a container that is being stopped is asked again
// only if it has less time now.
void stop(RunningTurn& turn, const ContainerRef& ref, RunContainer& state, SteadyTime by,
          Stage next) {
  const bool is_first = state.stage == Stage::kRunning;
  if (!is_first && state.stop_by <= by) return;
  if (is_first) {
    turn.note(ref, "Killing", fmt::format("Stopping container {}", ref.container));
    state.stage = next;
  }
  state.stop_by = by;
  const milliseconds left = std::chrono::ceil<milliseconds>(by - turn.now.steady);
  turn.emit(StopContainer{.container = ref, .grace = std::max(left, milliseconds{})});
}

// When the containers of the pod are killed that have not stopped by themselves.
SteadyTime stop_by(RunningTurn& turn, RunPod& pod) {
  // Containers that are to start over are given no time.
  const auto grace = is_stopping(pod) ? pod.stored_deletion.grace : std::chrono::seconds{};
  if (!pod.stopping_since) {
    const bool deleted = pod.stored_deletion.at != WallTime{};
    const milliseconds passed = deleted ? turn.now.wall - pod.stored_deletion.at : milliseconds{};
    pod.stopping_since = turn.now.steady - std::clamp<milliseconds>(passed, milliseconds{}, grace);
  }
  return *pod.stopping_since + grace;
}

// The containers to be stopped now: everything but the sidecars, then these from the last
// to the first.
std::vector<std::string> next_to_stop(const RunPod& pod) {
  std::vector<std::string> names;
  const auto add = [&](const Container& container) {
    if (is_up(pod.containers.at(container.name).stage)) names.push_back(container.name);
  };
  for (const Container& container : pod.record.pod.containers) add(container);
  for (const Container& container : pod.record.pod.init_containers) {
    if (container.kind == Container::Kind::kInit) add(container);
  }
  if (!names.empty()) return names;
  const auto& inits = pod.record.pod.init_containers;
  for (auto container = inits.rbegin(); container != inits.rend() && names.empty(); ++container) {
    add(*container);
  }
  return names;
}

// Whether the end of the container has all of its pod started over.
bool restarts_all(RunningTurn& turn, const ContainerRef& ref, const RunPod& pod,
                  const ContainerExit& exit) {
  const Container& container = *pod.record.pod.find(ref.container);
  if (restart_action(pod.record.pod, container, exit.code) != RestartAction::kRestartAll) {
    return false;
  }
  if (turn.rules.restart_all) return true;
  turn.warn(ref, "RestartRuleIgnored",
            fmt::format("container {} has ended with {}, for which it has a rule to restart all "
                        "containers; its restartPolicy counts instead, because gate "
                        "RestartAllContainersOnContainerExits is off",
                        ref.container, exit.code));
  return false;
}

// Whether a power cut may lose that the container has run: it is run again after an end that nobody
// saw, or its pod is forgotten, so that recovery does the same either way.
Durability durability_of_run(const RunPod& pod, const std::string& name) {
  const bool is_run_again = restarts(pod.record, *pod.record.pod.find(name), kKilled);
  return is_leaving(pod) || is_run_again ? Durability::kLazy : Durability::kSynced;
}

void restart_all(RunningTurn& turn, RunPod& pod) {
  pod.record.restart_all = {.under_way = true, .since = turn.now.wall};
  for (auto& [name, record] : pod.record.containers) record.ended = false;
}

}  // namespace

ContainerExit unknown_exit() {
  return {.code = kKilled,
          .cause = ExitCause::kUnknown,
          .message = "The container could not be located when the node looked for it"};
}

void record_exit(RunningTurn& turn, const ContainerRef& ref, ContainerExit exit) {
  RunPod& pod = turn.running.pods.at(ref.pod);
  RunContainer& state = pod.containers.at(ref.container);
  ContainerRecord& record = pod.record.containers.at(ref.container);
  if (exit.started_at == WallTime{}) exit.started_at = record.started_at;
  if (exit.finished_at == WallTime{}) exit.finished_at = turn.now.wall;
  if (exit.started_at == WallTime{}) exit.started_at = exit.finished_at;
  const bool resized = state.stage == Stage::kRestarting;
  const bool stops = is_stopping(pod);
  const bool is_asked_to = resized || pod.record.restart_all.under_way;
  if (!stops && !is_asked_to && restarts_all(turn, ref, pod, exit)) restart_all(turn, pod);
  if (is_asked_to && !resized && exit.code == kKilled) exit.cause = ExitCause::kRestartAll;
  const bool again =
      !stops && (resized || pod.record.restart_all.under_way ||
                 restarts(pod.record, *pod.record.pod.find(ref.container), exit.code));
  record.attempt = record.exits++;
  record.started_at = {};
  record.ended = !again;
  record.last_exit = exit;
  state.stage = Stage::kIdle;
  take(turn.placing, ContainerGone{ref});
  // What became of the pod by the end of a container is on record for good, but for a container
  // that just runs again.
  const bool just_runs_again = again && !resized && !pod.record.restart_all.under_way;
  mark_changed(turn, pod,
               just_runs_again || is_leaving(pod) ? durability_of_run(pod, ref.container)
                                                  : Durability::kSynced);
  if (again && !is_asked_to) back_off(turn, ref, state, exit);
}

void on_started(RunningTurn& turn, const ContainerStarted& command) {
  const ContainerRef& ref = command.container;
  RunContainer* state = find_container(turn.running, ref);
  if (state == nullptr || state->stage != Stage::kStarting) return;
  RunPod& pod = turn.running.pods.at(ref.pod);
  ContainerRecord& record = pod.record.containers.at(ref.container);
  if (command.attempt != record.exits) return;
  state->stage = Stage::kRunning;
  take(turn.placing, ContainerPlaced{ref});
  record.attempt = command.attempt;
  record.started_at = turn.now.wall;
  mark_changed(turn, pod, durability_of_run(pod, ref.container));
  turn.note(ref, "Started", fmt::format("Started container {}", ref.container));
}

void on_start_failed(RunningTurn& turn, const StartFailed& command) {
  const RunContainer* state = find_container(turn.running, command.container);
  if (state == nullptr || state->stage != Stage::kStarting) return;
  turn.warn(command.container, "FailedStart",
            fmt::format("cannot start container {}: {}", command.container.container,
                        command.error.message));
  record_exit(
      turn, command.container,
      {.code = kStartError, .cause = ExitCause::kNotStarted, .message = command.error.message});
}

void on_exited(RunningTurn& turn, const ContainerExited& command) {
  const RunContainer* state = find_container(turn.running, command.container);
  if (state == nullptr || !is_up(state->stage)) return;
  const PodRecord& record = turn.running.pods.at(command.container.pod).record;
  if (command.attempt != record.containers.at(command.container.container).exits) return;
  record_exit(turn, command.container, command.exit);
}

void on_restart_timer(RunningTurn& turn, const ContainerRef& ref) {
  RunContainer* state = find_container(turn.running, ref);
  if (state == nullptr || state->stage != Stage::kBackingOff) return;
  state->stage = Stage::kIdle;
  turn.touch(ref.pod);
}

void restart_resized(RunningTurn& turn, const ContainerRef& ref) {
  RunContainer* state = find_container(turn.running, ref);
  if (state == nullptr || state->stage != Stage::kRunning) return;
  const Pod& pod = turn.running.pods.at(ref.pod).record.pod;
  stop(turn, ref, *state, turn.now.steady + termination_grace(pod), Stage::kRestarting);
  turn.touch(ref.pod);
}

void start_over(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  if (!pod.record.restart_all.under_way || !pod.store.is_saved() || is_stopping(pod)) return;
  if (!is_quiet(pod)) return;
  pod.stopping_since.reset();
  pod.record.restart_all = {.under_way = false, .since = turn.now.wall};
  for (auto& [name, record] : pod.record.containers) record.began = record.exits;
  // An init container that has left its CPUs, be it that the gate was off then or that the
  // checkpoint was lost, needs some again.
  if (turn.rules.pins_cpus) take(turn.placing, ReclaimPod{uid});
  mark_changed(turn, pod);
}

void start_containers(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  if (!pod.store.is_saved() || is_stopping(pod) || pod.record.restart_all.under_way) return;
  const PlacedPod* placed = find_pod(turn.placing.placing, uid);
  if (placed == nullptr || !is_admitted(*placed)) return;
  // One copy for all containers that start now: the runtime keeps what each was started with.
  std::shared_ptr<const Pod> copy;
  for (const Container* container : whose_turn(pod)) {
    RunContainer& state = pod.containers.at(container->name);
    const ContainerRecord& record = pod.record.containers.at(container->name);
    if (state.stage != Stage::kIdle || record.ended) continue;
    const ContainerRef ref{uid, container->name};
    auto placement = place_start(turn.placing, ref);
    if (!placement) {
      turn.running.blocked.insert(uid);
      continue;
    }
    state.stage = Stage::kStarting;
    state.has_remains = true;
    if (copy == nullptr) copy = std::make_shared<const Pod>(pod.record.pod);
    turn.emit(StartContainer{.container = ref,
                             .attempt = record.exits,
                             .pod = copy,
                             .source = pod.record.source,
                             .placement = *std::move(placement)});
  }
}

void stop_containers(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  // Nothing is killed to start over before that is on record: a new agent goes on from there.
  const bool restarts = pod.record.restart_all.under_way && pod.store.is_saved();
  if (!is_stopping(pod) && !restarts) return;
  if (is_quiet(pod)) {
    pod.stopping_since.reset();
    return;
  }
  const SteadyTime by = stop_by(turn, pod);
  for (const std::string& name : next_to_stop(pod)) {
    RunContainer& state = pod.containers.at(name);
    if (is_running(state.stage)) stop(turn, {uid, name}, state, by, Stage::kStopping);
  }
}

void remove_ended(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  if (!pod.store.is_saved()) return;
  for (auto& [name, state] : pod.containers) {
    if (!state.has_remains || is_up(state.stage)) continue;
    if (!pod.record.containers.at(name).ended) continue;
    state.has_remains = false;
    turn.emit(RemoveContainer{{uid, name}});
  }
}

}  // namespace corehold
