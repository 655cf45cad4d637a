// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/resize_course.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/ledger.h"
#include "manager/placing/resize_events.h"

namespace corehold {
namespace {

// Whether a resource that changed for the container asks for a restart.
bool asks_for_restart(const Container& container, const Resources& before) {
  const auto changed = [&](std::string_view resource) {
    const auto amount = [&](const ResourceList& list) {
      const auto found = list.find(resource);
      return found == list.end() ? std::optional<Quantity>() : found->second;
    };
    return amount(before.requests) != amount(container.resources.requests) ||
           amount(before.limits) != amount(container.resources.limits);
  };
  return std::any_of(container.resize_policy.begin(), container.resize_policy.end(),
                     [&](const auto& entry) {
                       return entry.second == "RestartContainer" && changed(entry.first);
                     });
}

// Whether the container runs with what it was granted, or will when it is started next.
bool has_what_was_granted(const PlacingTurn& turn, const ContainerRef& ref, const PlacedPod& pod) {
  const PlacingState& placing = turn.placing;
  const PlacedContainer& state = pod.containers.at(ref.container);
  const Holding* holding = placing.durable.find(ref);
  if (state.exclusive > 0 && !state.is_done) {
    if (holding == nullptr || holding->assigned.size() != state.exclusive) return false;
    const Holding* booked = placing.bookings.cpus.find(ref);
    if (booked == nullptr || booked->assigned != holding->assigned) return false;
  }
  if (pod.resize.under_way) {
    const auto& open = pod.resize.under_way->containers;
    const auto is_it = [&](const ContainerResize& one) { return one.container == ref.container; };
    if (std::any_of(open.begin(), open.end(), is_it)) return false;
  }
  if (!is_told(turn.rules, placing, ref, pod)) return false;
  if (state.presence == Presence::kAbsent) return true;
  if (state.presence == Presence::kStarting || state.asked) return false;
  if (state.limits != limits_of(placing, ref, *pod.pod.find(ref.container))) return false;
  if (!turn.rules.pins_cpus) return true;
  // A container of the shared pool goes where the pool goes, whatever its resources; one that has
  // been given CPUs of its own meanwhile has still to go there.
  if (state.is_in_pool) return holding == nullptr;
  const auto wanted = wanted_cpus(turn.rules, placing, ref);
  return !wanted || state.confirmed == *wanted;
}

}  // namespace

void finish_shrinks(PlacingTurn& turn, const std::string& uid, PlacedPod& pod) {
  if (!pod.resize.under_way) return;
  PlacingState& placing = turn.placing;
  ResizeDecision& decision = *pod.resize.under_way;
  const auto has_left = [&](const ContainerResize& resize) {
    const ContainerRef ref{uid, resize.container};
    const PlacedContainer& state = pod.containers.at(resize.container);
    return !resize.grows() && is_due(state, resize) && is_told(turn.rules, placing, ref, pod) &&
           may_run_on(placing, state).is_subset_of(resize.after);
  };
  for (;;) {
    const auto done =
        std::find_if(decision.containers.begin(), decision.containers.end(), has_left);
    if (done == decision.containers.end()) break;
    const std::string name = done->container;
    book(turn, uid, finish_shrink(placing.bookings.cpus, uid, name, decision));
    decision.containers.erase(done);
    for (ContainerResize& other : decision.containers) other.from.erase(name);
  }
  std::erase_if(decision.containers, [](const auto& one) { return one.is_provided_for(); });
  if (decision.containers.empty()) pod.resize.under_way.reset();
}

void complete_resize(PlacingTurn& turn, const std::string& uid, PlacedPod& pod) {
  if (!is_resizing(pod) || is_stopping(pod)) return;
  for (auto& [name, state] : pod.containers) {
    if (!state.actual) continue;
    const ContainerRef ref{uid, name};
    if (!has_what_was_granted(turn, ref, pod)) continue;
    // A runtime of somebody else restarts containers by itself.
    if (turn.rules.driver == Driver::kRunning && state.presence == Presence::kRunning &&
        asks_for_restart(*pod.pod.find(name), *state.actual)) {
      turn.tell(RestartWanted{ref});
      continue;
    }
    state.actual.reset();
    turn.change_record(pod);
  }
  if (is_resizing(pod) || pod.resize.under_way) return;
  turn.note({uid, ""}, "ResizeCompleted",
            fmt::format("Pod resize completed: {}", told_of(pod.generation, pod.pod)));
  const std::chrono::duration<double, std::milli> took =
      turn.now.steady - pod.resize.started.value_or(turn.now.steady);
  turn.emit(
      CountMetric{.name = "kubelet_pod_resize_duration_milliseconds", .observed = took.count()});
  pod.resize.started.reset();
  pod.resize.errors.clear();
  pod.resize.began_at = {};
}

}  // namespace corehold
