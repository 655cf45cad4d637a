// SPDX-License-Identifier: Apache-2.0
#include "manager/resizing.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/lifecycle.h"
#include "manager/placement.h"
#include "manager/saving.h"
#include "pod/pod_json.h"
#include "pod/qos.h"
#include "policy/request.h"

namespace corehold {
namespace {

namespace json = boost::json;

using ResourcesByContainer = std::map<std::string, Resources>;

Container* find_container(Pod& pod, const std::string& name) {
  for (auto* containers : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *containers) {
      if (container.name == name) return &container;
    }
  }
  return nullptr;
}

// What differs in `to`. REQUIRES: the pods have the same containers.
ResourcesByContainer changes(const Pod& from, const Pod& to) {
  ResourcesByContainer changed;
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
         a.resources == b.resources && a.name == b.name && a.namespace_name == b.namespace_name &&
         a.labels == b.labels && a.annotations == b.annotations;
}

// As the kubelet writes it in its events.
std::string told_of(const PodRecord& record, const Pod& pod, std::string_view error = {}) {
  json::array containers;
  for (const Container* container : in_starting_order(pod)) {
    containers.push_back(
        json::object{{"name", container->name}, {"resources", to_json(container->resources)}});
  }
  json::object object{{"containers", std::move(containers)},
                      {"generation", static_cast<std::int64_t>(record.generation)}};
  if (!error.empty()) object["error"] = error;
  return json::serialize(object);
}

void count_requested(Turn& turn, const ResourcesByContainer& wanted, const Pod& now) {
  const auto count = [&](std::string_view resource, std::string_view requirement,
                         const ResourceList& before, const ResourceList& after) {
    const auto old = before.find(resource);
    const auto next = after.find(resource);
    std::string_view operation;
    if (old == before.end() && next == after.end()) return;
    if (old == before.end()) {
      operation = "add";
    } else if (next == after.end()) {
      operation = "remove";
    } else if (old->second == next->second) {
      return;
    } else {
      operation = old->second < next->second ? "increase" : "decrease";
    }
    turn.emit(CountMetric{"kubelet_container_requested_resizes_total",
                          {{"resource", std::string(resource)},
                           {"requirement", std::string(requirement)},
                           {"operation", std::string(operation)}}});
  };
  for (const auto& [name, resources] : wanted) {
    const Container* before = now.find(name);
    for (const std::string_view resource : {kCpu, kMemory}) {
      count(resource, "limits", before->resources.limits, resources.limits);
      count(resource, "requests", before->resources.requests, resources.requests);
    }
  }
}

bool is_being_placed(const NodeState& node, const std::string& uid) {
  return std::find(node.admitting.begin(), node.admitting.end(), uid) != node.admitting.end();
}

// Has a container that neither shrinks nor grows and holds another number than it was granted:
// of a resize that an agent before this one has begun.
bool is_left_over(const NodeState& node, const PodState& pod) {
  if (pod.resize.under_way) return false;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const auto& entry) {
    const auto& [name, state] = entry;
    const Holding* holding = node.bookings.cpus.find({pod.record.pod.uid, name});
    return holding != nullptr && state.exclusive > 0 &&
           holding->assigned.size() != state.exclusive && !pod.record.containers.at(name).ended;
  });
}

struct ByUrgency {
  const ManagerRules& rules;

  auto key(const PodState& pod) const {
    const PodRecord& record = pod.record;
    const auto qos = qos_class(record.pod, rules.admission.pod_gates);
    return std::tuple(record.wish.has_value(), -std::int64_t{record.pod.priority.value_or(0)},
                      static_cast<int>(qos), record.wish ? record.wish->since : WallTime{},
                      record.sequence);
  }
  bool operator()(const PodState* a, const PodState* b) const { return key(*a) < key(*b); }
};

std::vector<PodState*> undecided(Turn& turn) {
  NodeState& node = turn.node;
  std::vector<PodState*> pods;
  for (auto& [uid, pod] : node.pods) {
    if (!pod.record.wish && !is_left_over(node, pod)) continue;
    if (!pod.saved || is_stopping(pod) || pod.resize.tried >= node.freed) continue;
    if (node.resizing.contains(uid) || is_being_placed(node, uid)) continue;
    pods.push_back(&pod);
  }
  std::sort(pods.begin(), pods.end(), ByUrgency{turn.rules});
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
    keep_actual(name);
    find_container(record.pod, name)->resources = resources;
  }
  for (auto& [name, state] : pod.containers) {
    if (!turn.rules.pins_cpus) continue;
    const Container* container = record.pod.find(name);
    state.exclusive =
        request_of(record.pod, *container, std::nullopt, turn.rules.admission.pod_gates).cpus;
  }
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
  std::erase_if(accepted.decision.containers, [](const ContainerResize& container) {
    return container.grows() && container.from.empty();
  });
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

// What was granted is taken up again where an agent before this one has left it.
void go_on(Turn& turn, PodState& pod) {
  const ResizeDecision decision = decide_online(turn, pod.record.pod, pod.record.pod);
  if (decision.verdict == ResizeVerdict::kAccepted) {
    if (!pod.record.wish) pod.resize.verdict.reset();
    accept(turn, pod, pod.record.pod, decision);
  } else if (!pod.record.wish) {
    refuse(turn, pod, pod.record.pod, decision);
  }
}

// A pod that holds nothing yet asks for something else, that is all.
void change_request(Turn& turn, PodState& pod) {
  pod.record.pod = wanted_pod(pod.record);
  pod.record.wish.reset();
  for (auto& [name, state] : pod.containers) {
    if (!turn.rules.pins_cpus) continue;
    state.exclusive = request_of(pod.record.pod, *pod.record.pod.find(name), std::nullopt,
                                 turn.rules.admission.pod_gates)
                          .cpus;
  }
  pod.tried = 0;
  mark_changed(pod);
}

void finish_shrinks_of(Turn& turn, const std::string& uid, PodState& pod) {
  NodeState& node = turn.node;
  ResizeDecision& decision = *pod.resize.under_way;
  const auto has_left = [&](const ContainerResize& resize) {
    const ContainerRef ref{uid, resize.container};
    const ContainerState& state = pod.containers.at(resize.container);
    return !resize.grows() && state.due == resize.after && is_told(turn.rules, node, ref, pod) &&
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
  std::erase_if(decision.containers, [](const ContainerResize& container) {
    return container.grows() && container.from.empty();
  });
  if (decision.containers.empty()) pod.resize.under_way.reset();
}

// `shrink` is the one under way for the container; null: none.
void delay_shrink(Turn& turn, const ContainerRef& ref, PodState& pod,
                  const ContainerResize* shrink) {
  ContainerState& state = pod.containers.at(ref.container);
  const TimerKey timer{TimerKey::Kind::kDelay, ref};
  const bool is_same =
      shrink != nullptr && (state.delayed == shrink->after || state.due == shrink->after);
  if (is_same) return;
  state.due.reset();
  if (state.delayed) turn.emit(CancelTimer{timer});
  state.delayed.reset();
  if (shrink == nullptr || !is_told(turn.rules, turn.node, ref, pod)) return;
  // One that does not run needs no time.
  if (turn.rules.scale_delay.count() == 0 || state.stage == Stage::kIdle) {
    state.due = shrink->after;
    return;
  }
  state.delayed = shrink->after;
  turn.note(
      ref, "ScaleDelayStarted",
      fmt::format("container {} keeps CPUs {} of {} and loses the others in {} ms", ref.container,
                  shrink->after.str(), shrink->before.str(), turn.rules.scale_delay.count()));
  turn.emit(StartTimer{.timer = timer, .after = turn.rules.scale_delay});
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
  const auto took = turn.now.steady - pod.resize.started.value_or(turn.now.steady);
  turn.emit(CountMetric{.name = "kubelet_pod_resize_duration_milliseconds",
                        .observed = static_cast<double>(took.count())});
  pod.resize.started.reset();
  pod.record.resize_began_at = {};
}

}  // namespace

void set_wish(PodRecord& record, std::optional<ResizeWish> wish) {
  record.wish = std::move(wish);
  if (!record.wish) return;
  std::erase_if(record.wish->resources, [&](const auto& entry) {
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
           Error{Code::kInvalid, "a resize changes the resources of containers and nothing else"});
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

void finish_shrinks(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (pod.resize.under_way) finish_shrinks_of(turn, uid, pod);
  }
}

void delay_shrinks(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    for (auto& [name, state] : pod.containers) {
      const ContainerResize* shrink = shrink_of(pod, name);
      if (shrink == nullptr && !state.delayed && !state.due) continue;
      delay_shrink(turn, {uid, name}, pod, shrink);
    }
  }
}

void on_delay_timer(Turn& turn, const ContainerRef& ref) {
  ContainerState* state = corehold::find_container(turn.node, ref);
  if (state == nullptr || !state->delayed) return;
  state->due = std::exchange(state->delayed, std::nullopt);
  turn.note(ref, "ScaleDelayTimerFired",
            fmt::format("the delay of container {} is over: it keeps CPUs {}", ref.container,
                        state->due->str()));
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

void complete_resizes(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (is_resizing(pod.record) && !is_stopping(pod)) complete(turn, uid, pod);
  }
}

void drop_resize(PodState& pod) {
  pod.resize = {};
  if (!is_resizing(pod.record)) return;
  for (auto& [name, record] : pod.record.containers) record.actual.reset();
  pod.record.resize_began_at = {};
  mark_changed(pod);
}

}  // namespace corehold
