// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/placing.h"

#include <utility>

#include "manager/placing/admitting.h"
#include "manager/placing/cpusets.h"
#include "manager/placing/facts.h"
#include "manager/placing/fence.h"
#include "manager/placing/ledger.h"
#include "manager/placing/resize_course.h"
#include "manager/placing/resizing.h"
#include "manager/placing/shrink_delay.h"
#include "manager/placing/taking.h"
#include "manager/placing/telling.h"

namespace corehold {
namespace {

template <typename Function>
void for_work(PlacingTurn& turn, Function function) {
  for (const std::string& uid : turn.placing.work) {
    if (PlacedPod* pod = find_pod(turn.placing, uid)) function(uid, *pod);
  }
}

}  // namespace

void take(PlacingTurn& turn, const ClaimPod& command) {
  const std::string& uid = command.pod.uid;
  PlacedPod pod{.pod = command.pod,
                .sequence = command.sequence,
                .generation = command.generation,
                .patience = command.patience,
                .obeys_cordon = command.obeys_cordon,
                .is_new = command.is_new,
                .waits_for = command.waits_for};
  for (const Container* container : in_starting_order(pod.pod)) {
    pod.containers.try_emplace(container->name);
  }
  for (const auto& [name, resources] : command.actual) {
    const auto found = pod.containers.find(name);
    if (found != pod.containers.end()) found->second.actual = resources;
  }
  entitle(turn.rules, pod);
  pod.resize.wish = command.wish;
  pod.resize.began_at = command.resize_began_at;
  turn.placing.pods.insert_or_assign(uid, std::move(pod));
  turn.touch(uid);
}

void take(PlacingTurn& turn, const AmendPod& command) {
  PlacedPod* pod = find_pod(turn.placing, command.pod.uid);
  if (pod == nullptr) return;
  Pod next = command.pod;
  copy_resources(pod->pod, next);
  pod->pod = std::move(next);
  pod->generation = command.generation;
  ++pod->version.texts;
  turn.touch(command.pod.uid);
}

void take(PlacingTurn& turn, const WishResize& command) {
  PlacedPod* pod = find_pod(turn.placing, command.uid);
  if (pod == nullptr) return;
  pod->generation = command.generation;
  pod->resize.wish = open_wish(pod->pod, command.wish);
  pod->resize.verdict.reset();
  pod->resize.message.clear();
  pod->resize.was_deferred = false;
  pod->resize.tried = 0;
  turn.touch(command.uid);
}

void take(PlacingTurn& turn, const SetCourse& command) {
  PlacedPod* pod = find_pod(turn.placing, command.uid);
  if (pod == nullptr) return;
  if (pod->is_firm == command.is_firm && pod->course == command.course) return;
  pod->is_firm = command.is_firm;
  pod->course = command.course;
  turn.touch(command.uid);
}

void take(PlacingTurn& turn, const SetDone& command) {
  PlacedContainer* state = find_container(turn.placing, command.container);
  if (state == nullptr || state->is_done == command.is_done) return;
  state->is_done = command.is_done;
  turn.touch(command.container.pod);
}

void take(PlacingTurn& turn, const ReclaimPod& command) {
  PlacedPod* pod = find_pod(turn.placing, command.uid);
  if (pod == nullptr || has_all_cpus(turn.placing, *pod)) return;
  pod->standing = Standing::kWaiting;
  pod->tried = 0;
  ++pod->version.texts;  // its files have to say which CPUs it is given
  turn.touch(command.uid);
}

void take(PlacingTurn& turn, const DropPod& command) {
  PlacingState& placing = turn.placing;
  placing.pods.erase(command.uid);
  placing.to_place.erase(command.uid);
  placing.waiting.erase(command.uid);
  placing.blocked.erase(command.uid);
  placing.work.insert(command.uid);
}

void take(PlacingTurn& turn, const ContainerPlaced& command) {
  const ContainerRef& ref = command.container;
  PlacedContainer* state = find_container(turn.placing, ref);
  if (state == nullptr || state->presence != Presence::kStarting) return;
  state->presence = Presence::kRunning;
  if (state->asked) state->confirmed = *state->asked;
  state->asked.reset();
  state->limits = std::exchange(state->asked_limits, std::nullopt);
  watch_placed(turn.placing, ref, *state);
  turn.touch(ref, *state);
}

void take(PlacingTurn& turn, const ContainerGone& command) {
  const ContainerRef& ref = command.container;
  PlacedContainer* state = find_container(turn.placing, ref);
  if (state == nullptr) return;
  state->presence = Presence::kAbsent;
  state->is_in_pool = false;
  state->confirmed.clear();
  state->unsure.clear();
  state->shares_confirmed = false;
  state->asked.reset();
  state->limits.reset();
  state->asked_limits.reset();
  state->is_partition_refused = false;
  state->strayed.reset();
  state->setting.drop();
  state->taking.own.clear();
  turn.placing.pool.set_alone.erase(ref);
  turn.touch(ref, *state);
}

std::optional<Placement> place_start(PlacingTurn& turn, const ContainerRef& ref) {
  PlacingState& placing = turn.placing;
  const bool pins = turn.rules.pins_cpus;
  if (pins && placing.saved_revision == 0) return std::nullopt;
  PlacedPod* pod = find_pod(placing, ref.pod);
  if (pod == nullptr || !is_admitted(*pod) || !pod->is_firm || is_stopping(*pod)) {
    return std::nullopt;
  }
  if (!is_told(turn.rules, placing, ref, *pod)) return std::nullopt;
  PlacedContainer& state = pod->containers.at(ref.container);
  Placement start{.limits = limits_of(placing, ref, *pod->pod.find(ref.container))};
  if (pins) {
    const auto wanted = wanted_cpus(turn.rules, placing, ref);
    if (!wanted) return std::nullopt;
    start.cpus = *wanted;
    start.mems = wanted_mems(turn.rules, placing, ref);
    const Holding* holding = placing.durable.find(ref);
    if (holding == nullptr && (state.exclusive > 0 || !settle_pool(turn))) return std::nullopt;
    if (holding != nullptr && !is_nobody_else_on(placing, ref, holding->assigned)) {
      return std::nullopt;
    }
    if (holding != nullptr && !is_fenced(turn.rules, placing, holding->assigned)) {
      return std::nullopt;
    }
    state.is_in_pool = holding == nullptr;
    if (state.is_in_pool) start.owner = CpuOwner::kSharedPool;
  }
  state.presence = Presence::kStarting;
  if (!state.is_in_pool) state.asked = start.cpus;
  state.asked_limits = start.limits;
  turn.touch(ref, state);
  return start;
}

void decide_placing(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  for (const std::string& uid : std::exchange(placing.blocked, {})) placing.work.insert(uid);
  const auto tell = [&] {
    for_work(turn, [&](const std::string& uid, PlacedPod& pod) { tell_pod(turn, uid, pod); });
  };
  delay_shrinks(turn);
  place_pods(turn);
  // A resize is told before its record is saved: its wish is in the store, and what becomes
  // of a wish is the same after a crash.
  tell();
  // What the files have said already is not written again.
  while (delay_shrinks(turn)) {
    place_pods(turn);
    tell();
  }
  for_work(turn, [&](const std::string& uid, PlacedPod& pod) { complete_resize(turn, uid, pod); });
}

void set_placing(PlacingTurn& turn) { set_cpusets(turn); }

void end_placing(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  for_work(turn, [&](const std::string& uid, const PlacedPod& pod) {
    const bool waits = !is_stopping(pod) &&
                       (pod.standing == Standing::kWaiting || has_undecided_resize(placing, pod));
    if (waits) {
      placing.waiting.insert(uid);
    } else {
      placing.waiting.erase(uid);
    }
  });
  placing.work.clear();
  ++placing.turn;
}

void copy_placed(const PlacingState& placing, const PlacedPod& pod, PodRecord& record) {
  copy_resources(pod.pod, record.pod);
  record.wish = pod.resize.wish;
  record.resize_began_at = pod.resize.began_at;
  for (auto& [name, kept] : record.containers) kept.actual = pod.containers.at(name).actual;
  const auto held = [&](const auto& book) {
    const auto found = book.pods().find(pod.pod.uid);
    return found == book.pods().end() ? typename std::decay_t<decltype(book.pods())>::mapped_type{}
                                      : found->second;
  };
  record.memory = held(placing.bookings.memory);
  record.devices = held(placing.bookings.devices);
}

}  // namespace corehold
