// SPDX-License-Identifier: Apache-2.0
#include "manager/cpusets.h"

#include <utility>

#include <fmt/format.h>

#include "manager/delay.h"
#include "manager/facts.h"
#include "manager/resize_events.h"
#include "manager/taking.h"

namespace corehold {
namespace {

// Null when this is not the answer that the container waits for.
ContainerState* asked_for(Turn& turn, const ContainerRef& ref, const CpuSet& cpus) {
  ContainerState* state = find_container(turn.node, ref);
  if (state == nullptr || state->stage != Stage::kRunning) return nullptr;
  return state->asked == cpus ? state : nullptr;
}

// Where it is to be. Empty where CPUs are not pinned: then only how much it counts can change,
// as for one that has nowhere to go because all its CPUs are offline.
std::optional<CpuSet> target_of(const Turn& turn, const ContainerRef& ref,
                                const ContainerState& state) {
  if (!turn.rules.pins_cpus) return CpuSet{};
  auto wanted = wanted_cpus(turn.rules, turn.node, ref);
  if (!wanted && !state.strayed) return state.confirmed;
  return wanted;
}

// Whoever shares has to have left before the CPUs are somebody's own. One that has strayed
// does not wait for others with CPUs of their own that have: two that are in each other's
// place would wait for ever.
bool is_free_for(const NodeState& node, const ContainerRef& ref, const ContainerState& state,
                 const CpuSet& wanted) {
  if (state.strayed) return is_nobody_else_on(node, ref, wanted, Strays::kLeaveOut);
  return is_nobody_else_on(node, ref, wanted - state.confirmed);
}

void set_cpuset(Turn& turn, const ContainerRef& ref, ContainerState& state) {
  const NodeState& node = turn.node;
  const auto wanted = target_of(turn, ref, state);
  if (!wanted) return;
  const Container* container = node.pods.at(ref.pod).record.pod.find(ref.container);
  CHECK(container != nullptr);
  const Terms terms = terms_of(node, ref, *container);
  const bool is_there = !turn.rules.pins_cpus || (*wanted == state.confirmed && !state.strayed);
  if (is_there && state.terms == terms) return;
  if (node.durable.find(ref) != nullptr && !is_free_for(node, ref, state, *wanted)) return;
  state.asked = *wanted;
  state.asked_terms = terms;
  state.touched = true;
  watch_asked(turn, state);
  turn.emit(SetCpuset{.container = ref,
                      .cpus = *wanted,
                      .mems = wanted_mems(turn.rules, node, ref),
                      .terms = terms});
}

// The runtime has it on these CPUs.
void put(Turn& turn, const ContainerRef& ref, ContainerState& state, const CpuSet& cpus) {
  note_overshoot(turn, state, cpus);
  watch_taken(turn, ref, state, cpus);
  state.confirmed = cpus;
  watch_placed(turn.node, ref, state);
}

// Says where a container that is being resized runs from now on.
void note_applied(Turn& turn, const ContainerRef& ref, const ContainerState& state,
                  const CpuSet& cpus) {
  if (state.confirmed == cpus || turn.node.durable.find(ref) == nullptr) return;
  if (!turn.node.pods.at(ref.pod).record.containers.at(ref.container).actual) return;
  turn.note(ref, "CpusetApplied",
            fmt::format("container {} runs on CPUs {}, before that on {}", ref.container,
                        cpus.str(), state.confirmed.str()));
}

// Whether a new limit comes with a restart, however much memory it uses now.
bool restarts_for_memory(const Turn& turn, const ContainerRef& ref) {
  const Container* container = turn.node.pods.at(ref.pod).record.pod.find(ref.container);
  if (container == nullptr) return false;
  const auto policy = container->resize_policy.find(std::string(kMemory));
  return policy != container->resize_policy.end() && policy->second == "RestartContainer";
}

}  // namespace

void on_cpuset_applied(Turn& turn, const CpusetApplied& command) {
  const ContainerRef& ref = command.container;
  ContainerState* state = asked_for(turn, ref, command.cpus);
  if (state == nullptr) return;
  if (turn.rules.pins_cpus) {
    note_applied(turn, ref, *state, command.cpus);
    put(turn, ref, *state, command.cpus);
  }
  clear_resize_error(turn.node.pods.at(ref.pod), ref.container);
  state->asked.reset();
  state->terms = std::exchange(state->asked_terms, std::nullopt);
  state->strayed.reset();
  state->cpuset_failures = 0;
  state->touched = true;
}

void on_cpuset_failed(Turn& turn, const CpusetFailed& command) {
  ContainerState* state = asked_for(turn, command.container, command.cpus);
  if (state == nullptr) return;
  const bool is_placed = command.error.code == Code::kConflict;
  if (is_placed && restarts_for_memory(turn, command.container)) {
    return on_cpuset_applied(turn, {.container = command.container, .cpus = command.cpus});
  }
  if (is_placed && turn.rules.pins_cpus) {
    put(turn, command.container, *state, command.cpus);
    state->strayed.reset();
  } else {
    watch_taken(turn, command.container, *state, command.cpus);
    // How far it got is not known.
    state->confirmed |= command.cpus;
  }
  state->asked.reset();
  state->asked_terms.reset();
  state->terms.reset();
  state->touched = true;
  state->cpuset_waits = true;
  if (is_placed) {
    report_resize_error(turn, command.container, command.error.message);
  } else {
    const std::string message =
        fmt::format("cannot set the CPUs of container {} to {}: {}", command.container.container,
                    command.cpus.str(), command.error.message);
    turn.emit(CountMetric{"corehold_cpuset_apply_failures_total", {}});
    turn.warn(command.container, "FailedCpuset", message);
    report_resize_error(turn, command.container, message);
  }
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, command.container},
                       .after = retry_delay(++state->cpuset_failures)});
}

void set_cpusets(Turn& turn) {
  if (turn.rules.pins_cpus && turn.node.saved_revision == 0) return;
  for (const bool exclusive : {false, true}) {
    for (auto& [uid, pod] : turn.node.pods) {
      for (auto& [name, state] : pod.containers) {
        if (state.stage != Stage::kRunning || state.asked || state.cpuset_waits) continue;
        const ContainerRef ref{uid, name};
        if ((turn.node.durable.find(ref) != nullptr) != exclusive) continue;
        set_cpuset(turn, ref, state);
      }
    }
  }
}

}  // namespace corehold
