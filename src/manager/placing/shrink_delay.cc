// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/shrink_delay.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "pod/scale_delay.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

double seconds_of(SteadyTime time) { return std::chrono::duration<double>(time).count(); }

// The shrink under way for the container, unless the pod is to stop or another resize of it
// without that shrink has been accepted; null: none.
const ContainerResize* wanted_shrink(const PlacingState& placing, const ContainerRef& ref,
                                     const PlacedPod& pod) {
  const ContainerResize* shrink = shrink_of(pod, ref.container);
  if (shrink == nullptr || is_stopping(pod)) return nullptr;
  const auto next = placing.resizing.find(ref.pod);
  if (next == placing.resizing.end()) return shrink;
  const auto& containers = next->second.decision.containers;
  const bool is_kept =
      std::any_of(containers.begin(), containers.end(), [&](const ContainerResize& other) {
        return other.container == ref.container && other.after == shrink->after;
      });
  return is_kept ? shrink : nullptr;
}

void end_delay(PlacingTurn& turn, const ContainerRef& ref, PlacedContainer& state) {
  if (state.shrink->told_at && !state.shrink->is_due) {
    turn.emit(CancelTimer{{TimerKey::Kind::kDelay, ref}});
  }
  state.shrink.reset();
}

void warn_of_annotation(PlacingTurn& turn, const ContainerRef& ref, const PlacedPod& pod) {
  const auto own = own_scale_delay(pod.pod.annotations);
  if (own) return;
  turn.warn(
      ref, "InvalidScaleDelay",
      fmt::format("annotation {}: {}; the node's delay of {} ms is taken instead",
                  kScaleDelayAnnotation, own.error().message, turn.rules.scale_delay.count()));
}

// Whether it is due at once.
bool begin_delay(PlacingTurn& turn, const ContainerRef& ref, const PlacedPod& pod,
                 PlacedContainer& state, const CpuSet& before) {
  ShrinkState& shrink = *state.shrink;
  shrink.told_at = turn.now.steady;
  // One that does not run needs no time.
  const bool runs = state.presence != Presence::kAbsent;
  if (runs) {
    shrink.delay = scale_delay_of(turn.rules, pod);
    warn_of_annotation(turn, ref, pod);
    turn.emit(CountMetric{.name = "corehold_scale_delay_notify_seconds",
                          .observed = seconds_of(turn.now.steady - shrink.decided_at)});
  }
  shrink.is_due = shrink.delay.count() == 0;
  turn.touch(ref.pod);
  if (shrink.is_due) return true;
  turn.note(ref, "ScaleDelayStarted",
            fmt::format("container {} keeps CPUs {} of {} and loses the others in {} ms",
                        ref.container, shrink.after.str(), before.str(), shrink.delay.count()));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kDelay, ref}, .after = shrink.delay});
  return false;
}

// Whether the shrink has become due.
bool delay_shrink(PlacingTurn& turn, const ContainerRef& ref, const PlacedPod& pod,
                  PlacedContainer& state, const ContainerResize* shrink) {
  const bool is_over = state.shrink && (shrink == nullptr || state.shrink->after != shrink->after);
  if (is_over) end_delay(turn, ref, state);
  if (shrink == nullptr) return false;
  if (!state.shrink) {
    state.shrink = ShrinkState{.after = shrink->after, .decided_at = turn.now.steady};
  }
  if (state.shrink->told_at || !is_told(turn.rules, turn.placing, ref, pod)) return false;
  return begin_delay(turn, ref, pod, state, shrink->before);
}

}  // namespace

milliseconds scale_delay_of(const ManagerRules& rules, const PlacedPod& pod) {
  const auto own = own_scale_delay(pod.pod.annotations);
  return own ? own->value_or(rules.scale_delay) : rules.scale_delay;
}

bool delay_shrinks(PlacingTurn& turn) {
  bool any = false;
  for (const std::string& uid : turn.placing.work) {
    PlacedPod* pod = find_pod(turn.placing, uid);
    if (pod == nullptr) continue;
    for (auto& [name, state] : pod->containers) {
      const ContainerRef ref{uid, name};
      const ContainerResize* shrink = wanted_shrink(turn.placing, ref, *pod);
      if (shrink == nullptr && !state.shrink) continue;
      any = delay_shrink(turn, ref, *pod, state, shrink) || any;
    }
  }
  return any;
}

void on_delay_timer(PlacingTurn& turn, const ContainerRef& ref) {
  PlacedContainer* state = find_container(turn.placing, ref);
  if (state == nullptr || !state->shrink) return;
  ShrinkState& shrink = *state->shrink;
  if (!shrink.told_at || shrink.is_due) return;
  const SteadyTime left = *shrink.told_at + shrink.delay - turn.now.steady;
  if (left > SteadyTime{}) {
    // Of a delay that was started anew meanwhile.
    turn.emit(StartTimer{.timer = {TimerKey::Kind::kDelay, ref},
                         .after = std::chrono::ceil<milliseconds>(left)});
    return;
  }
  shrink.is_due = true;
  turn.touch(ref.pod);
  turn.note(ref, "ScaleDelayTimerFired",
            fmt::format("the delay of container {} is over: it keeps CPUs {}", ref.container,
                        shrink.after.str()));
}

void note_overshoot(PlacingTurn& turn, const PlacedContainer& state, const CpuSet& cpus) {
  if (!state.shrink || !state.shrink->is_due) return;
  const ShrinkState& shrink = *state.shrink;
  if (confirmed_cpus(turn.placing, state).is_subset_of(shrink.after) ||
      !cpus.is_subset_of(shrink.after))
    return;
  const SteadyTime due_at = *shrink.told_at + shrink.delay;
  turn.emit(CountMetric{.name = "corehold_scale_delay_overshoot_seconds",
                        .observed = seconds_of(turn.now.steady - due_at)});
}

}  // namespace corehold
