// SPDX-License-Identifier: Apache-2.0
#include "manager/lifecycle.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/saving.h"
#include "manager/taking.h"
#include "pod/restart_rules.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstBackOff{10'000};
constexpr milliseconds kMostBackOff{300'000};
constexpr milliseconds kLongRun{600'000};  // after which a failure counts as the first
constexpr milliseconds kKillAgain{10'000};
constexpr int kStartError = 128;
constexpr int kKilled = 137;

// No value: it cannot start now.
std::optional<StartContainer> launch_of(const Turn& turn, const ContainerRef& ref,
                                        const PodState& pod, const Container& container) {
  const NodeState& node = turn.node;
  StartContainer start{.container = ref,
                       .attempt = pod.record.containers.at(ref.container).exits,
                       .terms = terms_of(node, ref, container)};
  const Holding* holding = node.durable.find(ref);
  if (turn.rules.pins_cpus) {
    const auto wanted = wanted_cpus(turn.rules, node, ref);
    if (!wanted) return std::nullopt;
    start.cpus = *wanted;
    start.mems = wanted_mems(turn.rules, node, ref);
    const bool entitled = pod.containers.at(ref.container).exclusive > 0;
    if (entitled && holding == nullptr) return std::nullopt;
    if (holding != nullptr && !is_nobody_else_on(node, ref, holding->assigned)) {
      return std::nullopt;
    }
  }
  return start;
}

void start_of_pod(Turn& turn, const std::string& uid, PodState& pod) {
  for (const Container* container : whose_turn(pod)) {
    ContainerState& state = pod.containers.at(container->name);
    if (state.stage != Stage::kIdle || state.backing_off) continue;
    if (pod.record.containers.at(container->name).ended) continue;
    const ContainerRef ref{uid, container->name};
    if (!is_told(turn.rules, turn.node, ref, pod)) continue;
    auto start = launch_of(turn, ref, pod, *container);
    if (!start) continue;
    state.stage = Stage::kStarting;
    state.asked = start->cpus;
    state.asked_terms = start->terms;
    state.terminating = false;
    state.removed = false;
    state.touched = true;
    turn.emit(*std::move(start));
  }
}

void back_off(Turn& turn, const ContainerRef& ref, ContainerState& state, const Exit& exit) {
  if (exit.finished_at - exit.started_at >= kLongRun) state.failures = 0;
  const int before = state.failures++;
  if (before == 0) return;
  const milliseconds delay = doubled(kFirstBackOff, kMostBackOff, before);
  state.backing_off = true;
  // The same text each time, so that it is counted rather than repeated.
  turn.warn(ref, "BackOff", fmt::format("Back-off restarting failed container {}", ref.container));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRestart, ref}, .after = delay});
}

void signal(Turn& turn, const ContainerRef& ref, ContainerState& state, StopSignal signal) {
  if (!state.terminating) {
    turn.note(ref, "Killing", fmt::format("Stopping container {}", ref.container));
  }
  state.terminating = true;
  turn.emit(SignalContainer{.container = ref, .signal = signal});
}

void arm_kill_timer(Turn& turn, const std::string& uid, PodState& pod) {
  // Who is to start over is not given time.
  const auto grace = is_stopping(pod) ? pod.stored_deletion.grace : std::chrono::seconds{};
  if (pod.stopping_since && pod.kill_after <= grace) return;
  if (!pod.stopping_since) {
    const bool deleted = pod.stored_deletion.at != WallTime{};
    const milliseconds passed = deleted ? turn.now.wall - pod.stored_deletion.at : milliseconds{};
    pod.stopping_since = turn.now.steady - std::clamp<milliseconds>(passed, milliseconds{}, grace);
  }
  pod.kill_after = grace;
  const auto left = std::chrono::ceil<milliseconds>(*pod.stopping_since + grace - turn.now.steady);
  if (left <= milliseconds{}) {
    on_kill_timer(turn, uid);
    return;
  }
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kKill, {uid, ""}}, .after = left});
}

// The containers to be stopped now: everything but the sidecars, then these from the last
// to the first.
std::vector<std::string> next_to_stop(const PodState& pod) {
  std::vector<std::string> names;
  const auto add = [&](const Container& container) {
    if (pod.containers.at(container.name).stage != Stage::kIdle) names.push_back(container.name);
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

void end_stopping(Turn& turn, const std::string& uid, PodState& pod) {
  if (!pod.stopping_since) return;
  turn.emit(CancelTimer{{TimerKey::Kind::kKill, {uid, ""}}});
  pod.stopping_since.reset();
  pod.killing = false;
}

void stop_of_pod(Turn& turn, const std::string& uid, PodState& pod) {
  if (is_quiet(pod)) {
    end_stopping(turn, uid, pod);
    return;
  }
  arm_kill_timer(turn, uid, pod);
  if (pod.killing) {
    // Somebody who was still starting when all were killed.
    for (auto& [name, state] : pod.containers) {
      if (state.stage != Stage::kRunning || state.terminating) continue;
      signal(turn, {uid, name}, state, StopSignal::kKill);
    }
    return;
  }
  for (const std::string& name : next_to_stop(pod)) {
    ContainerState& state = pod.containers.at(name);
    if (state.stage != Stage::kRunning || state.terminating) continue;
    signal(turn, {uid, name}, state, StopSignal::kTerminate);
  }
}

// Whether the end of the container has all of its pod started over.
bool restarts_all(Turn& turn, const ContainerRef& ref, const PodState& pod, const Exit& exit) {
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

void restart_all(Turn& turn, PodState& pod) {
  pod.record.restart_all = {.under_way = true, .since = turn.now.wall};
  for (auto& [name, record] : pod.record.containers) record.ended = false;
}

}  // namespace

Exit unknown_exit() {
  return {.code = kKilled,
          .reason = "ContainerStatusUnknown",
          .message = "The container could not be located when the node looked for it"};
}

void record_exit(Turn& turn, const ContainerRef& ref, Exit exit) {
  PodState& pod = turn.node.pods.at(ref.pod);
  ContainerState& state = pod.containers.at(ref.container);
  ContainerRecord& record = pod.record.containers.at(ref.container);
  if (exit.started_at == WallTime{}) exit.started_at = record.started_at;
  if (exit.finished_at == WallTime{}) exit.finished_at = turn.now.wall;
  if (exit.started_at == WallTime{}) exit.started_at = exit.finished_at;
  const bool resized = std::exchange(state.restarting, false);
  if (resized) turn.emit(CancelTimer{{TimerKey::Kind::kKill, ref}});
  const bool stops = is_stopping(pod);
  const bool is_asked_to = resized || pod.record.restart_all.under_way;
  if (!stops && !is_asked_to && restarts_all(turn, ref, pod, exit)) restart_all(turn, pod);
  if (is_asked_to && !resized && exit.code == kKilled) exit.reason = "RestartingAllContainers";
  const bool again =
      !stops && (resized || pod.record.restart_all.under_way ||
                 restarts(pod.record, *pod.record.pod.find(ref.container), exit.code));
  record.attempt = record.exits++;
  record.started_at = {};
  record.ended = !again;
  record.last_exit = exit;
  state.stage = Stage::kIdle;
  state.confirmed.clear();
  state.asked.reset();
  state.terms.reset();
  state.asked_terms.reset();
  state.strayed.reset();
  state.terminating = false;
  state.touched = true;
  state.cpuset_failures = 0;
  state.taking.own.clear();
  mark_changed(pod);
  if (again && !is_asked_to) back_off(turn, ref, state, exit);
}

void on_started(Turn& turn, const ContainerStarted& command) {
  const ContainerRef& ref = command.container;
  ContainerState* state = find_container(turn.node, ref);
  if (state == nullptr || state->stage != Stage::kStarting) return;
  PodState& pod = turn.node.pods.at(ref.pod);
  ContainerRecord& record = pod.record.containers.at(ref.container);
  if (command.attempt != record.exits) return;
  state->stage = Stage::kRunning;
  if (state->asked) state->confirmed = *state->asked;
  state->asked.reset();
  state->terms = std::exchange(state->asked_terms, std::nullopt);
  state->touched = true;
  watch_placed(turn.node, ref, *state);
  record.attempt = command.attempt;
  record.started_at = turn.now.wall;
  mark_changed(pod);
  turn.note(ref, "Started", fmt::format("Started container {}", ref.container));
}

void on_start_failed(Turn& turn, const StartFailed& command) {
  const ContainerState* state = find_container(turn.node, command.container);
  if (state == nullptr || state->stage != Stage::kStarting) return;
  turn.warn(command.container, "FailedStart",
            fmt::format("cannot start container {}: {}", command.container.container,
                        command.error.message));
  record_exit(turn, command.container,
              {.code = kStartError, .reason = "StartError", .message = command.error.message});
}

void on_exited(Turn& turn, const ContainerExited& command) {
  const ContainerState* state = find_container(turn.node, command.container);
  if (state == nullptr || state->stage == Stage::kIdle) return;
  const PodRecord& record = turn.node.pods.at(command.container.pod).record;
  if (command.attempt != record.containers.at(command.container.container).exits) return;
  record_exit(turn, command.container, command.exit);
}

void on_kill_timer(Turn& turn, const std::string& uid) {
  PodState* pod = find_pod(turn.node, uid);
  if (pod == nullptr || !pod->stopping_since) return;
  pod->killing = true;
  for (auto& [name, state] : pod->containers) {
    if (state.stage == Stage::kRunning) signal(turn, {uid, name}, state, StopSignal::kKill);
  }
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kKill, {uid, ""}}, .after = kKillAgain});
}

void restart_resized(Turn& turn, const ContainerRef& ref, ContainerState& state) {
  if (state.restarting) return;
  state.restarting = true;
  signal(turn, ref, state, StopSignal::kTerminate);
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kKill, ref},
                       .after = termination_grace(turn.node.pods.at(ref.pod).record.pod)});
}

void on_restart_timer(Turn& turn, const ContainerRef& ref) {
  ContainerState* state = find_container(turn.node, ref);
  if (state == nullptr || !state->restarting || state->stage != Stage::kRunning) return;
  signal(turn, ref, *state, StopSignal::kKill);
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kKill, ref}, .after = kKillAgain});
}

void start_over(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.record.restart_all.under_way || !pod.saved || is_stopping(pod)) continue;
    if (!is_quiet(pod)) continue;
    end_stopping(turn, uid, pod);
    pod.record.restart_all = {.under_way = false, .since = turn.now.wall};
    for (auto& [name, record] : pod.record.containers) record.began = record.exits;
    // An init container that has left its CPUs, be it that the gate was off then or that the
    // checkpoint was lost, needs some again.
    if (turn.rules.pins_cpus && !has_all_cpus(turn.node, pod)) {
      pod.admitted = false;
      pod.tried = 0;
      ++pod.version.texts;  // its files have to say which
    }
    mark_changed(pod);
  }
}

void start_containers(Turn& turn) {
  if (turn.rules.pins_cpus && turn.node.saved_revision == 0) return;
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.admitted || !pod.saved || is_stopping(pod)) continue;
    if (pod.record.restart_all.under_way) continue;
    start_of_pod(turn, uid, pod);
  }
}

void stop_containers(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    // Nobody is killed to start over before it is on record: a new agent goes on from there.
    const bool restarts = pod.record.restart_all.under_way && pod.saved;
    if (is_stopping(pod) || restarts) stop_of_pod(turn, uid, pod);
  }
}

void remove_ended(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.saved) continue;
    for (auto& [name, state] : pod.containers) {
      if (state.removed || state.stage != Stage::kIdle) continue;
      if (!pod.record.containers.at(name).ended) continue;
      state.removed = true;
      turn.emit(RemoveContainer{{uid, name}});
    }
  }
}

}  // namespace corehold
