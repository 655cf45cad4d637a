// SPDX-License-Identifier: Apache-2.0
#include "manager/foreign/questions.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/placing.h"
#include "manager/placing/resizing.h"

namespace corehold {
namespace {

void cancel_timer(const Turn& turn, const ContainerRef& ref) {
  turn.emit(CancelTimer{{TimerKey::Kind::kAnswer, ref}});
}

void grant_question(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container,
                    Grant grant) {
  turn.emit(Reply{.request = container.question->request, .grant = std::move(grant)});
  container.question.reset();
  cancel_timer(turn, ref);
}

Grant grant_of(const Placement& placement) {
  return {.cpus = placement.cpus,
          .mems = placement.mems,
          .quota = placement.limits.quota,
          .cpu_shares = placement.limits.cpu_shares};
}

// What the container has by now. No value: it has nowhere to run.
std::optional<Grant> present_grant(const ForeignTurn& turn, const ContainerRef& ref) {
  const PlacingState& placing = turn.placing.placing;
  const PlacedPod& pod = placing.pods.at(ref.pod);
  Placement placement{.mems = wanted_mems(turn.rules, placing, ref),
                      .limits = limits_of(placing, ref, *pod.pod.find(ref.container))};
  if (turn.rules.pins_cpus) {
    const auto cpus = wanted_cpus(turn.rules, placing, ref);
    if (!cpus) return std::nullopt;
    placement.cpus = *cpus;
  }
  return grant_of(placement);
}

// The pod as the runtime knows it by now says something else of itself.
void amend_pod(ForeignTurn& turn, const Pod& pod) {
  const PlacedPod& placed = turn.placing.placing.pods.at(pod.uid);
  if (pod.labels == placed.pod.labels && pod.annotations == placed.pod.annotations) return;
  Pod amended = placed.pod;
  amended.labels = pod.labels;
  amended.annotations = pod.annotations;
  take(turn.placing, AmendPod{.pod = std::move(amended), .generation = placed.generation});
}

// The pod of the question, under the UID that the runtime calls the pod by: in an API server a
// static pod has another. No value: the question has no pod, or its pod has other containers than
// the pod that is known.
std::optional<Pod> asked_pod(const ForeignTurn& turn, const Ask& ask) {
  if (ask.pod == nullptr) return std::nullopt;
  Pod pod = *ask.pod;
  pod.uid = ask.container.pod;
  const PlacedPod* placed = find_pod(std::as_const(turn.placing.placing), pod.uid);
  if (placed == nullptr) return pod;
  const auto names = [](const Pod& each) {
    std::set<std::string> all;
    for (const Container* container : in_starting_order(each)) all.insert(container->name);
    return all;
  };
  if (names(pod) != names(placed->pod)) return std::nullopt;
  return pod;
}

// Asking for the same again changes nothing of what was decided.
void wish_resize(ForeignTurn& turn, const Pod& pod) {
  const PlacedPod& placed = turn.placing.placing.pods.at(pod.uid);
  if (changes(wanted_pod(placed), pod).empty()) return;
  take(turn.placing,
       WishResize{.uid = pod.uid,
                  .wish = ResizeWish{.resources = changes(placed.pod, pod), .since = turn.now.wall},
                  .generation = placed.generation + 1});
}

// A container that had ended for good runs again, as after a restart of its pod.
void reopen(ForeignTurn& turn, const ContainerRef& ref) {
  if (!turn.placing.placing.pods.at(ref.pod).containers.at(ref.container).is_done) return;
  take(turn.placing, SetDone{.container = ref, .is_done = false});
  if (turn.rules.pins_cpus) take(turn.placing, ReclaimPod{ref.pod});
}

std::optional<Error> mistake_of(const Ask& ask, const ForeignPod* pod) {
  if (pod == nullptr) {
    if (ask.pod == nullptr || ask.pod->find(ask.container.container) == nullptr) {
      return Error{Code::kNotFound,
                   fmt::format("pod {} of container {} is not known (yet); ask again",
                               ask.container.pod, ask.container.container)};
    }
    return std::nullopt;
  }
  if (pod->is_removed) {
    return Error{Code::kConflict,
                 fmt::format("pod {} is being removed; ask again", ask.container.pod)};
  }
  const auto container = pod->containers.find(ask.container.container);
  if (container == pod->containers.end()) {
    return Error{Code::kNotFound, fmt::format("pod {} has no container {}", ask.container.pod,
                                              ask.container.container)};
  }
  if (ask.attempt < container->second.newest) {
    return Error{Code::kConflict,
                 fmt::format("container {} was started anew since", ask.container.container)};
  }
  if (ask.kind == Ask::Kind::kResize && ask.pod == nullptr) {
    return Error{Code::kNotFound,
                 fmt::format("what container {} is to have is not known", ask.container.container)};
  }
  return std::nullopt;
}

// The pod is not admitted. No value: that may be in a moment.
std::optional<Error> refusal_of(const PlacingState& placing, const PlacedPod& pod) {
  const bool is_decided = pod.standing == Standing::kWaiting && placing.saving.may_ask();
  if (!is_decided || pod.waits_for.empty()) return std::nullopt;
  return Error{Code::kExhausted, pod.waits_for};
}

using Verdict = std::variant<std::monostate, Grant, Error>;

Verdict on_create(ForeignTurn& turn, const ContainerRef& ref) {
  const PlacingState& placing = turn.placing.placing;
  const PlacedPod& pod = placing.pods.at(ref.pod);
  if (!is_admitted(pod)) {
    if (auto error = refusal_of(placing, pod)) return *error;
    return {};
  }
  if (turn.rules.pins_cpus && placing.saved_revision == 0) return {};
  if (auto grant = present_grant(turn, ref)) return *grant;
  return {};
}

Verdict on_start(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container) {
  const int attempt = container.question->attempt;
  const PlacedPod& pod = turn.placing.placing.pods.at(ref.pod);
  const PlacedContainer& placed = pod.containers.at(ref.container);
  if (!is_admitted(pod)) {
    if (auto error = refusal_of(turn.placing.placing, pod)) return *error;
    return {};
  }
  if (placed.presence == Presence::kRunning) {
    // The end of the run before has not been told, or that run goes on: it keeps its place.
    if (container.up != attempt) return {};
    if (auto grant = present_grant(turn, ref)) return *grant;
    return {};
  }
  // A runtime that asks again has not started what it was granted.
  if (placed.presence == Presence::kStarting) take(turn.placing, ContainerGone{ref});
  const auto placement = place_start(turn.placing, ref);
  if (!placement) return {};
  container.up = attempt;
  return grant_of(*placement);
}

Verdict on_resize(ForeignTurn& turn, const ContainerRef& ref) {
  const PlacingState& placing = turn.placing.placing;
  const PlacedPod& pod = placing.pods.at(ref.pod);
  const ResizeState& resize = pod.resize;
  if (is_being_placed(placing, ref.pod)) return {};
  if (!is_admitted(pod)) {
    if (auto error = refusal_of(placing, pod)) return *error;
    return {};
  }
  if (resize.wish && resize.wish->resources.contains(ref.container)) {
    if (!resize.verdict) return {};
    const bool is_deferred = *resize.verdict == ResizeVerdict::kDeferred;
    return Error{is_deferred ? Code::kExhausted : Code::kInvalid, resize.message};
  }
  const PlacedContainer& container = pod.containers.at(ref.container);
  const Holding* held = placing.durable.find(ref);
  const bool has_all =
      held == nullptr ? container.exclusive == 0 : held->assigned.size() == container.exclusive;
  if (!has_all && resize.verdict) return Error{Code::kExhausted, resize.message};
  if (has_all && !container.actual) {
    if (auto grant = present_grant(turn, ref)) return *grant;
    return {};
  }
  const auto error = resize.errors.find(ref.container);
  if (error != resize.errors.end()) return Error{Code::kIo, error->second};
  if (container.shrink && container.shrink->told_at) {
    const Holding* holding = placing.bookings.cpus.find(ref);
    const auto left = *container.shrink->told_at + container.shrink->delay - turn.now.steady;
    if (holding != nullptr && left.count() > 0) {
      using Seconds = std::chrono::duration<double>;
      return Error{Code::kConflict, fmt::format("in grace: CPUs {} leave in {:.1f} s",
                                                (holding->assigned - container.shrink->after).str(),
                                                std::chrono::duration_cast<Seconds>(left).count())};
    }
  }
  return {};
}

Verdict verdict_on(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container) {
  switch (container.question->kind) {
    case Ask::Kind::kCreate:
      return on_create(turn, ref);
    case Ask::Kind::kStart:
      return on_start(turn, ref, container);
    case Ask::Kind::kResize:
      return on_resize(turn, ref);
    case Ask::Kind::kStop:
      break;
  }
  return Grant{};
}

}  // namespace

ForeignPod* find_pod(ForeignState& foreign, const std::string& uid) {
  const auto found = foreign.pods.find(uid);
  return found == foreign.pods.end() ? nullptr : &found->second;
}

ForeignContainer* find_container(ForeignState& foreign, const ContainerRef& ref) {
  ForeignPod* pod = find_pod(foreign, ref.pod);
  if (pod == nullptr) return nullptr;
  const auto found = pod->containers.find(ref.container);
  return found == pod->containers.end() ? nullptr : &found->second;
}

ForeignPod& claim_pod(ForeignTurn& turn, const Pod& pod) {
  take(turn.placing, ClaimPod{.pod = pod, .sequence = turn.foreign.next_sequence++});
  take(turn.placing, SetCourse{.uid = pod.uid, .is_firm = true});
  ForeignPod& asked = turn.foreign.pods[pod.uid];
  for (const Container* container : in_starting_order(pod)) {
    asked.containers.try_emplace(container->name);
  }
  return asked;
}

void on_asked(ForeignTurn& turn, const Asked& command) {
  const Ask& ask = command.ask;
  // The container goes on running until its end is told.
  if (ask.kind == Ask::Kind::kStop) {
    turn.emit(Reply{.request = command.request, .grant = Grant{}});
    return;
  }
  ForeignPod* pod = find_pod(turn.foreign, ask.container.pod);
  if (const auto mistake = mistake_of(ask, pod)) {
    turn.emit(Reply{.request = command.request, .error = *mistake});
    return;
  }
  const std::optional<Pod> wanted = asked_pod(turn, ask);
  if (!wanted && ask.kind == Ask::Kind::kResize) {
    turn.emit(Reply{.request = command.request,
                    .error = Error{Code::kConflict,
                                   fmt::format("pod {} is known with other containers; ask again",
                                               ask.container.pod)}});
    return;
  }
  if (pod == nullptr) pod = &claim_pod(turn, *wanted);
  if (wanted) amend_pod(turn, *wanted);
  ForeignContainer& container = pod->containers.at(ask.container.container);
  refuse_question(turn, ask.container, container,
                  {Code::kConflict, "another question about the container has come since"});
  // A container that is started anew gets what it has, and more later, if its pod wants more.
  if (wanted) wish_resize(turn, *wanted);
  if (ask.kind != Ask::Kind::kResize) {
    container.newest = ask.attempt;
    reopen(turn, ask.container);
  }
  container.question =
      Question{.request = command.request, .kind = ask.kind, .attempt = ask.attempt};
  turn.foreign.open.insert(ask.container.pod);
  turn.placing.touch(ask.container.pod);
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kAnswer, ask.container},
                       .after = turn.rules.answer_within});
}

void refuse_question(ForeignTurn& turn, const ContainerRef& ref, ForeignContainer& container,
                     Error error) {
  if (!container.question) return;
  turn.emit(Reply{.request = container.question->request, .error = std::move(error)});
  container.question.reset();
  cancel_timer(turn, ref);
}

void on_answer_timer(ForeignTurn& turn, const ContainerRef& ref) {
  ForeignContainer* container = find_container(turn.foreign, ref);
  if (container == nullptr) return;
  refuse_question(turn, ref, *container,
                  {Code::kExhausted,
                   fmt::format("container {} cannot have its CPUs yet; ask again", ref.container)});
}

bool confirm_notices(ForeignTurn& turn, std::vector<Notice>& notices) {
  bool is_changed = false;
  for (const Notice& notice : std::exchange(notices, {})) {
    const std::string uid = std::visit(
        [](const auto& typed) {
          if constexpr (requires { typed.uid; }) {
            return typed.uid;
          } else {
            return typed.container.pod;
          }
        },
        notice);
    const PlacedPod* pod = find_pod(turn.placing.placing, uid);
    if (pod == nullptr || pod->is_firm) continue;
    take(turn.placing, SetCourse{.uid = uid, .is_firm = true, .course = pod->course});
    is_changed = true;
  }
  return is_changed;
}

void answer_questions(ForeignTurn& turn) {
  for (auto uid = turn.foreign.open.begin(); uid != turn.foreign.open.end();) {
    ForeignPod* pod = find_pod(turn.foreign, *uid);
    CHECK(pod != nullptr);
    bool is_open = pod->is_removed;
    for (auto& [name, container] : pod->containers) {
      if (!container.question) continue;
      const ContainerRef ref{*uid, name};
      Verdict verdict = verdict_on(turn, ref, container);
      if (auto* grant = std::get_if<Grant>(&verdict)) {
        grant_question(turn, ref, container, std::move(*grant));
      } else if (auto* error = std::get_if<Error>(&verdict)) {
        refuse_question(turn, ref, container, std::move(*error));
      } else {
        is_open = true;
      }
    }
    uid = is_open ? std::next(uid) : turn.foreign.open.erase(uid);
  }
}

}  // namespace corehold
