// SPDX-License-Identifier: Apache-2.0
#include "manager/resizing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/placement.h"
#include "manager/resize_events.h"
#include "manager/saving.h"
#include "manager/urgency.h"

namespace corehold {
namespace {

Container* find_container(Pod& pod, const std::string& name) {
  for (auto* containers : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *containers) {
      if (container.name == name) return &container;
    }
  }
  return nullptr;
}

// What differs in `to`; "" for the pod itself. REQUIRES: the pods have the same containers.
ResourcesByContainer changes(const Pod& from, const Pod& to) {
  ResourcesByContainer changed;
  if (from.resources != to.resources) changed[""] = to.resources.value_or(Resources{});
  for (const Container* container : in_starting_order(to)) {
    const Container* before = from.find(container->name);
    CHECK(before != nullptr);
    if (before->resources != container->resources) changed[container->name] = container->resources;
  }
  return changed;
}

bool differ_in_resources_alone(const Pod& a, const Pod& b) {
  const auto are_alike = [](const std::vector<Container>& left,
                            const std::vector<Container>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](Container one, const Container& other) {
                        one.resources = other.resources;
                        return one == other;
                      });
  };
  return are_alike(a.containers, b.containers) && are_alike(a.init_containers, b.init_containers) &&
         a.name == b.name && a.namespace_name == b.namespace_name && a.labels == b.labels &&
         a.annotations == b.annotations;
}

// How many CPUs the container holds, if that is another number than it was granted.
std::optional<int> held_otherwise(const NodeState& node, const PodState& pod,
                                  const std::string& container) {
  const Holding* holding = node.bookings.cpus.find({pod.record.pod.uid, container});
  const int granted = pod.containers.at(container).exclusive;
  if (holding == nullptr || granted == 0 || holding->assigned.size() == granted ||
      pod.record.containers.at(container).ended) {
    return std::nullopt;
  }
  return holding->assigned.size();
}

// Has a container that neither shrinks nor grows and holds another number than it was granted:
// of a resize that an agent before this one has begun.
bool is_left_over(const NodeState& node, const PodState& pod) {
  if (pod.resize.under_way) return false;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const auto& entry) {
    return held_otherwise(node, pod, entry.first).has_value();
  });
}

std::vector<PodState*> undecided(Turn& turn) {
  NodeState& node = turn.node;
  std::vector<PodState*> pods;
  for (auto& [uid, pod] : node.pods) {
    if (!pod.record.wish && !is_left_over(node, pod)) continue;
    if (!pod.saved || is_stopping(pod) || pod.resize.tried >= node.freed) continue;
    if (is_being_placed(node, uid)) continue;
    // One that lacks a part of what it needs is resized when it has that again.
    if (!pod.admitted && holds_anything(node.bookings, uid)) continue;
    pods.push_back(&pod);
  }
  std::sort(pods.begin(), pods.end(), [&turn](const PodState* one, const PodState* two) {
    return is_more_urgent(one->record, two->record, turn.rules.admission.pod_gates);
  });
  return pods;
}

// Gives the containers what they have been granted.
void grant(Turn& turn, PodState& pod, const AcceptedResize& accepted) {
  PodRecord& record = pod.record;
  const Pod wanted = wanted_pod(record);
  const auto keep_actual = [&](const std::string& name) {
    ContainerRecord& kept = record.containers.at(name);
    if (!kept.actual) kept.actual = find_container(record.pod, name)->resources;
  };
  for (const ContainerResize& resize : accepted.decision.containers) keep_actual(resize.container);
  for (const auto& [name, resources] : accepted.resources) {
    ++pod.version.grants;
    if (name.empty()) {
      record.pod.resources = resources;
      continue;
    }
    keep_actual(name);
    find_container(record.pod, name)->resources = resources;
  }
  entitle(turn.rules, pod);
  // Somebody may have asked for something else meanwhile.
  ResourcesByContainer open = changes(record.pod, wanted);
  if (open.empty()) {
    record.wish.reset();
  } else {
    record.wish->resources = std::move(open);
  }
}

void begin(Turn& turn, PodState& pod, AcceptedResize accepted) {
  ResizeState& resize = pod.resize;
  const bool is_new = !accepted.resources.empty();
  if (!pod.record.wish) pod.record.wish = ResizeWish{.since = turn.now.wall};
  if (!is_resizing(pod.record)) pod.record.resize_began_at = turn.now.wall;
  grant(turn, pod, accepted);
  // Those that grow have all that was free by now.
  std::erase_if(accepted.decision.containers,
                [](const auto& one) { return one.is_provided_for(); });
  resize.under_way.reset();
  if (!accepted.decision.containers.empty()) resize.under_way = std::move(accepted.decision);
  if (!resize.started) resize.started = turn.now.steady;
  mark_changed(pod);
  if (!is_new) return;
  if (std::exchange(resize.was_deferred, false)) {
    turn.emit(CountMetric{"kubelet_pod_deferred_accepted_resizes_total",
                          {{"retry_trigger", "resources_freed"}}});
  }
  turn.note({pod.record.pod.uid, ""}, "ResizeStarted",
            fmt::format("Pod resize started: {}", told_of(pod.record, pod.record.pod)));
}

void refuse(Turn& turn, PodState& pod, const Pod& wanted, const ResizeDecision& decision) {
  ResizeState& resize = pod.resize;
  CHECK(decision.refusal.has_value());
  const std::string& message = decision.refusal->message;
  const bool is_deferred = decision.verdict == ResizeVerdict::kDeferred;
  if (is_deferred && pod.record.wish) resize.was_deferred = true;
  if (resize.verdict == decision.verdict && resize.message == message) return;
  const bool is_news = resize.verdict != decision.verdict;
  resize.verdict = decision.verdict;
  resize.message = message;
  const ContainerRef about{pod.record.pod.uid, ""};
  if (!pod.record.wish) {
    turn.warn(about, "ResizeError",
              fmt::format("Pod resize error: {}", told_of(pod.record, wanted, message)));
    return;
  }
  if (!is_deferred && is_news) {
    const std::string& error = decision.refusal->error;
    turn.emit(CountMetric{"kubelet_pod_infeasible_resizes_total",
                          {{"reason_detail", error.empty() ? "other" : error}}});
  }
  const std::string name(name_of(decision.verdict));
  turn.warn(about, "Resize" + name,
            fmt::format("Pod resize {}: {}", name, told_of(pod.record, wanted, message)));
}

// The checkpoint has to say so before anything is done.
bool takes_cpus(const ResizeDecision& decision) {
  return std::any_of(
      decision.containers.begin(), decision.containers.end(),
      [](const ContainerResize& container) { return !container.from_shared.empty(); });
}

void accept(Turn& turn, PodState& pod, const Pod& wanted, const ResizeDecision& decision) {
  NodeState& node = turn.node;
  const std::string& uid = pod.record.pod.uid;
  AcceptedResize accepted{.decision = decision, .resources = changes(pod.record.pod, wanted)};
  const bool is_durable = !takes_cpus(decision) && !node.before_admitting;
  if (!is_durable && !node.before_admitting) node.before_admitting = node.bookings;
  if (takes_cpus(decision)) {
    ++node.revision;
    ++node.freed;  // under a topology policy one that takes CPUs may let another fit
  }
  apply(node.bookings.cpus, begin_resize(node.bookings.cpus, uid, decision));
  if (is_durable) {
    begin(turn, pod, std::move(accepted));
  } else {
    node.resizing.insert_or_assign(uid, std::move(accepted));
  }
}

// Whether it was accepted.
bool try_wish(Turn& turn, PodState& pod) {
  const Pod wanted = wanted_pod(pod.record);
  const ResizeDecision decision = decide_online(turn, pod.record.pod, wanted);
  if (decision.verdict != ResizeVerdict::kAccepted) {
    refuse(turn, pod, wanted, decision);
    return false;
  }
  pod.resize.verdict.reset();
  pod.resize.message.clear();
  accept(turn, pod, wanted, decision);
  return true;
}

// What was granted can never be had, as where the gate was switched off meanwhile: containers
// have been granted what they hold, and the rest is asked for.
void take_back(Turn& turn, PodState& pod) {
  PodRecord& record = pod.record;
  const Pod wanted = wanted_pod(record);
  for (auto& [name, kept] : record.containers) {
    const auto held = held_otherwise(turn.node, pod, name);
    if (!held) continue;
    Resources& resources = find_container(record.pod, name)->resources;
    for (ResourceList* list : {&resources.requests, &resources.limits}) {
      list->insert_or_assign(std::string(kCpu), Quantity::of(*held));
    }
    if (kept.actual == resources) kept.actual.reset();
    ++pod.version.grants;  // files may have told of the amount that it is not to have
  }
  entitle(turn.rules, pod);
  const WallTime since = record.wish ? record.wish->since : record.resize_began_at;
  record.wish = ResizeWish{.resources = changes(record.pod, wanted), .since = since};
  if (!is_resizing(record)) record.resize_began_at = {};
  pod.resize = {};
  mark_changed(pod);
}

// What was granted is taken up again where an agent before this one has left it.
void go_on(Turn& turn, PodState& pod) {
  const ResizeDecision decision = decide_online(turn, pod.record.pod, pod.record.pod);
  if (decision.verdict == ResizeVerdict::kAccepted) {
    if (!pod.record.wish) pod.resize.verdict.reset();
    accept(turn, pod, pod.record.pod, decision);
  } else if (decision.verdict == ResizeVerdict::kInfeasible) {
    take_back(turn, pod);
  } else if (!pod.record.wish) {
    refuse(turn, pod, pod.record.pod, decision);
  }
}

// A pod that holds nothing yet asks for something else, that is all.
void change_request(Turn& turn, PodState& pod) {
  pod.record.pod = wanted_pod(pod.record);
  pod.record.wish.reset();
  entitle(turn.rules, pod);
  pod.tried = 0;
  mark_changed(pod);
}

}  // namespace

void set_wish(PodRecord& record, std::optional<ResizeWish> wish) {
  record.wish = std::move(wish);
  if (!record.wish) return;
  std::erase_if(record.wish->resources, [&](const auto& entry) {
    if (entry.first.empty()) return record.pod.resources == entry.second;
    const Container* container = record.pod.find(entry.first);
    return container == nullptr || container->resources == entry.second;
  });
  if (record.wish->resources.empty()) record.wish.reset();
}

void on_resize(Turn& turn, const ResizePod& command) {
  PodState* pod = find_editable(turn, command.pod.uid, command.request);
  if (pod == nullptr) return;
  PodRecord& record = pod->record;
  const Pod wanted = wanted_pod(record);
  if (!differ_in_resources_alone(record.pod, command.pod)) {
    answer(turn, command.request,
           Error{Code::kInvalid, "a resize changes resources and nothing else"});
    return;
  }
  const ResourcesByContainer asked = changes(wanted, command.pod);
  if (asked.empty()) {
    answer(turn, command.request, std::nullopt);
    return;
  }
  edit_pod(*pod, command.pod);
  count_requested(turn, asked, wanted);
  ++record.generation;
  set_wish(record,
           ResizeWish{.resources = changes(record.pod, command.pod), .since = turn.now.wall});
  pod->resize.verdict.reset();
  pod->resize.message.clear();
  pod->resize.was_deferred = false;
  pod->resize.tried = 0;
  pod->waiters.push_back({.request = command.request});
  mark_changed(*pod);
}

void decide_resizes(Turn& turn) {
  for (PodState* pod : undecided(turn)) {
    pod->resize.tried = turn.node.freed;
    if (!pod->admitted) {
      if (pod->record.wish) change_request(turn, *pod);
    } else if (!pod->record.wish || !try_wish(turn, *pod)) {
      if (is_left_over(turn.node, *pod)) go_on(turn, *pod);
    }
  }
}

void begin_resizes(Turn& turn) {
  for (auto& [uid, accepted] : std::exchange(turn.node.resizing, {})) {
    begin(turn, turn.node.pods.at(uid), std::move(accepted));
  }
}

void withdraw_resizes(Turn& turn) { turn.node.resizing.clear(); }

void drop_resize(PodState& pod) {
  pod.resize = {};
  if (!is_resizing(pod.record)) return;
  for (auto& [name, record] : pod.record.containers) record.actual.reset();
  pod.record.resize_began_at = {};
  mark_changed(pod);
}

}  // namespace corehold
