// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/ledger.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "manager/placing/facts.h"

namespace corehold {
namespace {

// Under a topology policy a pod that takes CPUs may let another fit.
void change_cpus(PlacingTurn& turn, const std::string& uid) {
  ++turn.placing.revision;
  turn.placing.unsaved.insert(uid);
  change_room(turn);
  turn.touch(uid);
}

}  // namespace

void change_room(PlacingTurn& turn) { ++turn.placing.room; }

void book(PlacingTurn& turn, const std::string& uid, const Plan& plan) {
  apply(turn.placing.bookings.cpus, plan);
  change_cpus(turn, uid);
}

void book_pending(PlacingTurn& turn, const std::string& uid, const Plan& plan) {
  apply(turn.placing.bookings.cpus, plan);
  turn.touch(uid);
}

void release_all(PlacingTurn& turn, const std::string& uid) {
  PlacingState& placing = turn.placing;
  if (placing.bookings.cpus.pods.contains(uid)) change_cpus(turn, uid);
  release(turn.rules.admission, placing.bookings, uid);
  change_room(turn);
  turn.touch(uid);
}

Booked book_admission(PlacingTurn& turn, const std::string& uid, PodBooking before) {
  PlacingState& placing = turn.placing;
  const PodBooking after = booking_of(placing.bookings, uid);
  const bool takes_cpus = after.cpus != before.cpus || after.shared != before.shared;
  turn.touch(uid);
  if (!takes_cpus && placing.unsaved_bookings.empty()) return Booked::kAtOnce;
  placing.unsaved_bookings.emplace_back(uid, std::move(before));
  if (takes_cpus) change_cpus(turn, uid);
  return Booked::kOnceSaved;
}

Booked book_resize(PlacingTurn& turn, const std::string& uid, const ResizeDecision& decision) {
  PlacingState& placing = turn.placing;
  const bool takes_cpus =
      std::any_of(decision.containers.begin(), decision.containers.end(),
                  [](const ContainerResize& container) { return !container.from_shared.empty(); });
  const bool counts = !takes_cpus && placing.unsaved_bookings.empty();
  if (!counts) placing.unsaved_bookings.emplace_back(uid, booking_of(placing.bookings, uid));
  if (takes_cpus) change_cpus(turn, uid);
  book_pending(turn, uid, begin_resize(placing.bookings.cpus, uid, decision));
  return counts ? Booked::kAtOnce : Booked::kOnceSaved;
}

StateDelta unsaved_delta(const PlacingState& placing) {
  const State& cpus = placing.bookings.cpus;
  return placing.saved_revision == 0 ? whole_delta(cpus) : delta_of(cpus, placing.unsaved);
}

void take_back_bookings(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  auto& undo = placing.unsaved_bookings;
  for (auto booking = undo.rbegin(); booking != undo.rend(); ++booking) {
    restore(placing.bookings, booking->first, booking->second);
  }
  undo.clear();
  change_room(turn);
}

void keep_bookings(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  apply(placing.durable, unsaved_delta(placing));
  placing.unsaved_bookings.clear();
  std::set<std::string> changed = std::exchange(placing.unsaved, {});
  // The first checkpoint of a life has what was found.
  if (placing.saved_revision == 0) {
    for (const auto& [uid, pod] : placing.pods) changed.insert(uid);
  }
  for (const std::string& uid : changed) {
    turn.touch(uid);
    PlacedPod* pod = find_pod(placing, uid);
    if (pod == nullptr) continue;
    // A container that has CPUs of its own counts otherwise in the occupancy than one without.
    for (auto& [name, container] : pod->containers) turn.count({uid, name}, container);
  }
}

}  // namespace corehold
