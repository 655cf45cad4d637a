// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/resizing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "manager/placing/admitting.h"
#include "manager/placing/facts.h"
#include "manager/placing/ledger.h"
#include "manager/placing/resize_events.h"
#include "manager/placing/urgency.h"

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

// How many CPUs the container holds, if that is another number than it was granted.
std::optional<int> held_otherwise(const PlacingState& placing, const PlacedPod& pod,
                                  const std::string& container) {
  const Holding* holding = placing.bookings.cpus.find({pod.pod.uid, container});
  const int granted = pod.containers.at(container).exclusive;
  if (holding == nullptr || granted == 0 || holding->assigned.size() == granted ||
      pod.containers.at(container).is_done) {
    return std::nullopt;
  }
  return holding->assigned.size();
}

// Has a container that neither shrinks nor grows and holds another number than it was granted:
// of a resize that an agent before this one has begun.
bool is_left_over(const PlacingState& placing, const PlacedPod& pod) {
  if (pod.resize.under_way) return false;
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const auto& entry) {
    return held_otherwise(placing, pod, entry.first).has_value();
  });
}

std::vector<PlacedPod*> undecided(PlacingTurn& turn, const std::set<std::string>& uids) {
  PlacingState& placing = turn.placing;
  std::vector<PlacedPod*> pods;
  for (const std::string& uid : uids) {
    PlacedPod* pod = find_pod(placing, uid);
    if (pod == nullptr || !has_undecided_resize(placing, *pod)) continue;
    if (!pod->is_firm || is_stopping(*pod) || pod->resize.tried >= placing.room) continue;
    if (is_being_placed(placing, uid)) continue;
    // A pod that lacks a part of what it needs is resized when it has that again.
    if (!is_admitted(*pod) && holds_anything(placing.bookings, uid)) continue;
    pods.push_back(pod);
  }
  std::sort(pods.begin(), pods.end(), [&turn](const PlacedPod* one, const PlacedPod* two) {
    return is_more_urgent(*one, *two, turn.rules.admission.pod_gates);
  });
  return pods;
}

// Gives the containers what they have been granted.
void grant(PlacingTurn& turn, PlacedPod& pod, const AcceptedResize& accepted) {
  const Pod wanted = wanted_pod(pod);
  const auto keep_actual = [&](const std::string& name) {
    auto& actual = pod.containers.at(name).actual;
    if (!actual) actual = find_container(pod.pod, name)->resources;
  };
  for (const ContainerResize& resize : accepted.decision.containers) keep_actual(resize.container);
  for (const auto& [name, resources] : accepted.resources) {
    ++pod.version.grants;
    if (name.empty()) {
      pod.pod.resources = resources;
      continue;
    }
    keep_actual(name);
    find_container(pod.pod, name)->resources = resources;
  }
  entitle(turn.rules, pod);
  // Something else may have been asked for meanwhile.
  ResourcesByContainer open = changes(pod.pod, wanted);
  if (open.empty()) {
    pod.resize.wish.reset();
  } else {
    pod.resize.wish->resources = std::move(open);
  }
}

void begin(PlacingTurn& turn, PlacedPod& pod, AcceptedResize accepted) {
  ResizeState& resize = pod.resize;
  const bool is_new = !accepted.resources.empty();
  if (!resize.wish) resize.wish = ResizeWish{.since = turn.now.wall};
  if (!is_resizing(pod)) resize.began_at = turn.now.wall;
  grant(turn, pod, accepted);
  // Containers that grow have all that was free by now.
  std::erase_if(accepted.decision.containers,
                [](const auto& one) { return one.is_provided_for(); });
  resize.under_way.reset();
  if (!accepted.decision.containers.empty()) resize.under_way = std::move(accepted.decision);
  if (!resize.started) resize.started = turn.now.steady;
  turn.touch(pod.pod.uid);
  turn.change_record(pod);
  if (!is_new) return;
  if (std::exchange(resize.was_deferred, false)) {
    turn.emit(CountMetric{"kubelet_pod_deferred_accepted_resizes_total",
                          {{"retry_trigger", "resources_freed"}}});
  }
  turn.note({pod.pod.uid, ""}, "ResizeStarted",
            fmt::format("Pod resize started: {}", told_of(pod.generation, pod.pod)));
}

void refuse(PlacingTurn& turn, PlacedPod& pod, const Pod& wanted, const ResizeDecision& decision) {
  ResizeState& resize = pod.resize;
  CHECK(decision.refusal.has_value());
  const std::string& message = decision.refusal->message;
  const bool is_deferred = decision.verdict == ResizeVerdict::kDeferred;
  if (is_deferred && resize.wish) resize.was_deferred = true;
  if (resize.verdict == decision.verdict && resize.message == message) return;
  const bool is_news = resize.verdict != decision.verdict;
  resize.verdict = decision.verdict;
  resize.message = message;
  turn.touch(pod.pod.uid);
  const ContainerRef about{pod.pod.uid, ""};
  if (!resize.wish) {
    turn.warn(about, "ResizeError",
              fmt::format("Pod resize error: {}", told_of(pod.generation, wanted, message)));
    return;
  }
  if (!is_deferred && is_news) {
    const std::string& error = decision.refusal->error;
    turn.emit(CountMetric{"kubelet_pod_infeasible_resizes_total",
                          {{"reason_detail", error.empty() ? "other" : error}}});
  }
  const std::string name(name_of(decision.verdict));
  turn.warn(about, "Resize" + name,
            fmt::format("Pod resize {}: {}", name, told_of(pod.generation, wanted, message)));
}

void accept(PlacingTurn& turn, PlacedPod& pod, const Pod& wanted, const ResizeDecision& decision) {
  const std::string& uid = pod.pod.uid;
  AcceptedResize accepted{.decision = decision, .resources = changes(pod.pod, wanted)};
  if (book_resize(turn, uid, decision) == Booked::kAtOnce) {
    begin(turn, pod, std::move(accepted));
  } else {
    turn.placing.resizing.insert_or_assign(uid, std::move(accepted));
  }
}

// Whether it was accepted.
bool try_wish(PlacingTurn& turn, PlacedPod& pod) {
  const Pod wanted = wanted_pod(pod);
  const ResizeDecision decision = decide_online(turn, pod.pod, wanted);
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
void take_back(PlacingTurn& turn, PlacedPod& pod) {
  const Pod wanted = wanted_pod(pod);
  for (auto& [name, state] : pod.containers) {
    const auto held = held_otherwise(turn.placing, pod, name);
    if (!held) continue;
    Resources& resources = find_container(pod.pod, name)->resources;
    for (ResourceList* list : {&resources.requests, &resources.limits}) {
      list->insert_or_assign(std::string(kCpu), Quantity::of(*held));
    }
    if (state.actual == resources) state.actual.reset();
    ++pod.version.grants;  // files may have told of the amount that it is not to have
  }
  entitle(turn.rules, pod);
  const WallTime since = pod.resize.wish ? pod.resize.wish->since : pod.resize.began_at;
  const WallTime began_at = is_resizing(pod) ? pod.resize.began_at : WallTime{};
  pod.resize = {.wish = ResizeWish{.resources = changes(pod.pod, wanted), .since = since},
                .began_at = began_at};
  turn.touch(pod.pod.uid);
  turn.change_record(pod);
}

// What was granted is taken up again where an agent before this one has left it.
void go_on(PlacingTurn& turn, PlacedPod& pod) {
  const ResizeDecision decision = decide_online(turn, pod.pod, pod.pod);
  if (decision.verdict == ResizeVerdict::kAccepted) {
    if (!pod.resize.wish) pod.resize.verdict.reset();
    accept(turn, pod, pod.pod, decision);
  } else if (decision.verdict == ResizeVerdict::kInfeasible) {
    take_back(turn, pod);
  } else if (!pod.resize.wish) {
    refuse(turn, pod, pod.pod, decision);
  }
}

// A pod that holds nothing yet asks for something else, that is all.
void change_request(PlacingTurn& turn, PlacedPod& pod) {
  pod.pod = wanted_pod(pod);
  pod.resize.wish.reset();
  entitle(turn.rules, pod);
  pod.tried = 0;
  turn.touch(pod.pod.uid);
  turn.change_record(pod);
}

}  // namespace

std::optional<ResizeWish> open_wish(const Pod& granted, std::optional<ResizeWish> wish) {
  if (!wish) return wish;
  std::erase_if(wish->resources, [&](const auto& entry) {
    if (entry.first.empty()) return granted.resources == entry.second;
    const Container* container = granted.find(entry.first);
    return container == nullptr || container->resources == entry.second;
  });
  if (wish->resources.empty()) wish.reset();
  return wish;
}

bool has_undecided_resize(const PlacingState& placing, const PlacedPod& pod) {
  return pod.resize.wish || is_left_over(placing, pod);
}

void decide_resizes(PlacingTurn& turn, const std::set<std::string>& uids) {
  for (PlacedPod* pod : undecided(turn, uids)) {
    pod->resize.tried = turn.placing.room;
    if (!is_admitted(*pod)) {
      if (pod->resize.wish) change_request(turn, *pod);
    } else if (!pod->resize.wish || !try_wish(turn, *pod)) {
      if (is_left_over(turn.placing, *pod)) go_on(turn, *pod);
    }
  }
}

void begin_resizes(PlacingTurn& turn) {
  for (auto& [uid, accepted] : std::exchange(turn.placing.resizing, {})) {
    begin(turn, turn.placing.pods.at(uid), std::move(accepted));
  }
}

void withdraw_resizes(PlacingTurn& turn) {
  for (const auto& [uid, accepted] : std::exchange(turn.placing.resizing, {})) turn.touch(uid);
}

void drop_resize(PlacingTurn& turn, PlacedPod& pod) {
  pod.resize = {.wish = std::move(pod.resize.wish)};
  if (!is_resizing(pod)) return;
  for (auto& [name, state] : pod.containers) state.actual.reset();
  turn.change_record(pod);
}

}  // namespace corehold
