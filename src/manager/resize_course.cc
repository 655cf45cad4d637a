// SPDX-License-Identifier: Apache-2.0
#include "manager/resize_course.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/resize_events.h"
#include "manager/saving.h"

namespace corehold {
namespace {

void finish_shrinks_of(Turn& turn, const std::string& uid, PodState& pod) {
  NodeState& node = turn.node;
  ResizeDecision& decision = *pod.resize.under_way;
  const auto has_left = [&](const ContainerResize& resize) {
    const ContainerRef ref{uid, resize.container};
    const ContainerState& state = pod.containers.at(resize.container);
    return !resize.grows() && is_due(state, resize) && is_told(turn.rules, node, ref, pod) &&
           may_run_on(state).is_subset_of(resize.after);
  };
  for (;;) {
    const auto done =
        std::find_if(decision.containers.begin(), decision.containers.end(), has_left);
    if (done == decision.containers.end()) break;
    const std::string name = done->container;
    apply(node.bookings.cpus, finish_shrink(node.bookings.cpus, uid, name, decision));
    ++node.revision;
    ++node.freed;
    decision.containers.erase(done);
    for (ContainerResize& other : decision.containers) other.from.erase(name);
  }
  std::erase_if(decision.containers, [](const auto& one) { return one.is_provided_for(); });
  if (decision.containers.empty()) pod.resize.under_way.reset();
}

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
bool has_what_was_granted(const Turn& turn, const ContainerRef& ref, const PodState& pod) {
  const NodeState& node = turn.node;
  const ContainerState& state = pod.containers.at(ref.container);
  const ContainerRecord& record = pod.record.containers.at(ref.container);
  const Holding* holding = node.durable.find(ref);
  if (state.exclusive > 0 && !record.ended) {
    if (holding == nullptr || holding->assigned.size() != state.exclusive) return false;
    if (node.bookings.cpus.find(ref) == nullptr ||
        node.bookings.cpus.find(ref)->assigned != holding->assigned) {
      return false;
    }
  }
  if (pod.resize.under_way) {
    const auto& open = pod.resize.under_way->containers;
    const auto is_it = [&](const ContainerResize& one) { return one.container == ref.container; };
    if (std::any_of(open.begin(), open.end(), is_it)) return false;
  }
  if (!is_told(turn.rules, node, ref, pod)) return false;
  if (state.stage == Stage::kIdle) return true;
  if (state.stage == Stage::kStarting || state.asked) return false;
  if (state.terms != terms_of(node, ref, *pod.record.pod.find(ref.container))) return false;
  if (!turn.rules.pins_cpus) return true;
  const auto wanted = wanted_cpus(turn.rules, node, ref);
  return !wanted || state.confirmed == *wanted;
}

void complete(Turn& turn, const std::string& uid, PodState& pod) {
  for (auto& [name, record] : pod.record.containers) {
    if (!record.actual) continue;
    const ContainerRef ref{uid, name};
    ContainerState& state = pod.containers.at(name);
    if (!has_what_was_granted(turn, ref, pod)) continue;
    if (state.stage == Stage::kRunning &&
        asks_for_restart(*pod.record.pod.find(name), *record.actual)) {
      restart_resized(turn, ref, state);
      continue;
    }
    record.actual.reset();
    mark_changed(pod);
  }
  if (is_resizing(pod.record) || pod.resize.under_way) return;
  turn.note({uid, ""}, "ResizeCompleted",
            fmt::format("Pod resize completed: {}", told_of(pod.record, pod.record.pod)));
  const std::chrono::duration<double, std::milli> took =
      turn.now.steady - pod.resize.started.value_or(turn.now.steady);
  turn.emit(
      CountMetric{.name = "kubelet_pod_resize_duration_milliseconds", .observed = took.count()});
  pod.resize.started.reset();
  pod.resize.errors.clear();
  pod.record.resize_began_at = {};
}

}  // namespace

void finish_shrinks(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (pod.resize.under_way) finish_shrinks_of(turn, uid, pod);
  }
}

void complete_resizes(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (is_resizing(pod.record) && !is_stopping(pod)) complete(turn, uid, pod);
  }
}

}  // namespace corehold
