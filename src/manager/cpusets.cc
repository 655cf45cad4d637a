// SPDX-License-Identifier: Apache-2.0
#include "manager/cpusets.h"

#include <fmt/format.h>

#include "manager/facts.h"

namespace corehold {
namespace {

// Null when this is not the answer that the container waits for.
ContainerState* asked_for(Turn& turn, const ContainerRef& ref, const CpuSet& cpus) {
  ContainerState* state = find_container(turn.node, ref);
  if (state == nullptr || state->stage != Stage::kRunning) return nullptr;
  return state->asked == cpus ? state : nullptr;
}

void set_cpuset(Turn& turn, const ContainerRef& ref, ContainerState& state) {
  if (state.stage != Stage::kRunning || state.asked || state.cpuset_waits) return;
  const auto wanted = wanted_cpus(turn.rules, turn.node, ref);
  if (!wanted || (*wanted == state.confirmed && !state.strayed)) return;
  state.asked = *wanted;
  state.touched = true;
  const Container* container = turn.node.pods.at(ref.pod).record.pod.find(ref.container);
  CHECK(container != nullptr);
  turn.emit(SetCpuset{.container = ref,
                      .cpus = *wanted,
                      .mems = wanted_mems(turn.rules, turn.node, ref),
                      .cpu_shares = cpu_shares(*container),
                      .quota = cpu_quota(turn.node, ref, *container)});
}

}  // namespace

void on_cpuset_applied(Turn& turn, const CpusetApplied& command) {
  ContainerState* state = asked_for(turn, command.container, command.cpus);
  if (state == nullptr) return;
  state->confirmed = command.cpus;
  state->asked.reset();
  state->strayed.reset();
  state->cpuset_failures = 0;
  state->touched = true;
}

void on_cpuset_failed(Turn& turn, const CpusetFailed& command) {
  ContainerState* state = asked_for(turn, command.container, command.cpus);
  if (state == nullptr) return;
  // How far it got is not known.
  state->confirmed |= command.cpus;
  state->asked.reset();
  state->touched = true;
  state->cpuset_waits = true;
  turn.emit(CountMetric{"corehold_cpuset_apply_failures_total", {}});
  turn.warn(command.container, "FailedCpuset",
            fmt::format("cannot set the CPUs of container {} to {}: {}",
                        command.container.container, command.cpus.str(), command.error.message));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, command.container},
                       .after = retry_delay(++state->cpuset_failures)});
}

void set_cpusets(Turn& turn) {
  if (!turn.rules.pins_cpus || turn.node.saved_revision == 0) return;
  for (const bool exclusive : {false, true}) {
    for (auto& [uid, pod] : turn.node.pods) {
      for (auto& [name, state] : pod.containers) {
        const ContainerRef ref{uid, name};
        if (state.stage != Stage::kRunning) continue;
        if ((turn.node.durable.find(ref) != nullptr) != exclusive) continue;
        set_cpuset(turn, ref, state);
      }
    }
  }
}

}  // namespace corehold
