// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/admitting.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/code.h"
#include "features/pod_questions.h"
#include "manager/placing/admission_counts.h"
#include "manager/placing/facts.h"
#include "manager/placing/ledger.h"
#include "manager/placing/resize_course.h"
#include "manager/placing/resizing.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr const char* kCordoned =
    "the node is cordoned: it takes no new pods until it is uncordoned";

// An init container leaves what no other container of its pod uses, unless it may have to run
// again.
void release_ended_inits(PlacingTurn& turn, const std::string& uid, const PlacedPod& pod) {
  const State& cpus = turn.placing.bookings.cpus;
  for (const Container& container : pod.pod.init_containers) {
    const ContainerRef ref{uid, container.name};
    if (container.kind != Container::Kind::kInit || cpus.find(ref) == nullptr) continue;
    if (!pod.containers.at(container.name).is_done) continue;
    if (turn.rules.restart_all && restarts_all_containers(pod.pod)) continue;
    book(turn, uid, turn.rules.admission.policy.release(cpus, ref));
  }
}

void release_what_ended(PlacingTurn& turn, const std::string& uid, PlacedPod& pod) {
  if (!pod.is_firm) return;
  if (pod.course != Course::kOver) return release_ended_inits(turn, uid, pod);
  if (holds_anything(turn.placing.bookings, uid)) {
    release_all(turn, uid);
    pod.standing = Standing::kWaiting;
  }
  drop_resize(turn, pod);
}

Code code_of(const Refusal& refusal) {
  for (const Code code : {Code::kExhausted, Code::kUnaligned}) {
    if (admission_reason(code) == refusal.reason) return code;
  }
  return refusal.reason == "TopologyAffinityError" ? Code::kExhausted : Code::kConflict;
}

void wait_for_room(PlacingTurn& turn, PlacedPod& pod, const std::string& message) {
  if (pod.waits_for == message) return;
  pod.waits_for = message;
  turn.tell(PodWaits{.uid = pod.pod.uid, .message = message});
  turn.warn({pod.pod.uid, ""}, "FailedScheduling", message);
}

void refuse(PlacingTurn& turn, PlacedPod& pod, const Refusal& refusal) {
  pod.tried = turn.placing.room;
  if (pod.patience == Patience::kWaits || !is_quiet(pod)) {
    wait_for_room(turn, pod, refusal.message);
  } else {
    turn.tell(PodRefused{.uid = pod.pod.uid,
                         .reason = refusal.reason,
                         .error = {code_of(refusal), refusal.message}});
  }
}

void finish_admission(PlacingTurn& turn, PlacedPod& pod) {
  pod.standing = Standing::kAdmitted;
  pod.is_new = false;
  pod.waits_for.clear();
  pod.is_firm = false;  // until the record says so
  turn.touch(pod.pod.uid);
  turn.tell(PodAdmitted{pod.pod.uid});
}

// Pods go by their names in what is said of them. CPUs that are offline are nobody's to be given,
// yet stay where they are booked.
AdmissionRules rules_now(const PlacingTurn& turn) {
  AdmissionRules rules = turn.rules.admission;
  rules.unavailable = turn.placing.offline;
  rules.pod_name = [&placing = turn.placing](const std::string& uid) {
    const auto found = placing.pods.find(uid);
    return found == placing.pods.end() ? uid : display_name(found->second.pod);
  };
  return rules;
}

// Why so few CPUs would be left to the rest of the machine that these are not given; no value: they
// may be.
std::optional<std::string> starves_system(const PlacingTurn& turn, const CpuSet& exclusive) {
  const int least = turn.rules.min_system_cpus;
  const CpuSet rest = turn.rules.admission.topology.cpus() - turn.placing.offline - exclusive;
  if (rest.size() >= least) return std::nullopt;
  return fmt::format(
      "not enough cpus available to satisfy request: CPUs {} would be left to the rest of the "
      "machine, isolation.minSystemCPUs is {}",
      rest.empty() ? "none" : rest.str(), least);
}

// An admission that takes so many CPUs is taken back.
void spare_system(const PlacingTurn& turn, const PlacedPod& pod, const PodBooking& before,
                  Decision& decision) {
  Bookings& bookings = turn.placing.bookings;
  const std::string& uid = pod.pod.uid;
  if (decision.refusal || booking_of(bookings, uid).cpus == before.cpus) return;
  const auto reason = starves_system(turn, bookings.cpus.exclusive());
  if (!reason) return;
  restore(bookings, uid, before);
  decision.refusal = Refusal{.reason = std::string(admission_reason(Code::kExhausted)),
                             .text = *reason,
                             .message = *reason};
}

// Gives back all that the pod holds, though none of it runs.
void give_up(PlacingTurn& turn, PlacedPod& pod) {
  release_all(turn, pod.pod.uid);
  pod.standing = Standing::kWaiting;
  drop_resize(turn, pod);
  turn.change_record(pod);
}

void try_to_admit(PlacingTurn& turn, PlacedPod& pod) {
  PlacingState& placing = turn.placing;
  if (is_held_by_cordon(placing, pod)) {
    pod.tried = placing.room;
    wait_for_room(turn, pod, kCordoned);
    return;
  }
  const std::string& uid = pod.pod.uid;
  const AdmissionRules rules = rules_now(turn);
  PodBooking before = booking_of(placing.bookings, uid);
  Decision decision = admit(rules, placing.bookings, pod.pod);
  spare_system(turn, pod, before, decision);
  if (decision.refusal && is_quiet(pod) && holds_anything(placing.bookings, uid)) {
    // What it has kept stands in its own way: it is placed as if it were new. A checkpoint that
    // cannot be saved gives back what it has kept, like every booking since the last.
    placing.unsaved_bookings.emplace_back(uid, before);
    give_up(turn, pod);
    before = booking_of(placing.bookings, uid);
    decision = admit(rules, placing.bookings, pod.pod);
    spare_system(turn, pod, before, decision);
  }
  count_admission(turn, decision);
  if (decision.refusal) {
    refuse(turn, pod, *decision.refusal);
    return;
  }
  if (book_admission(turn, uid, std::move(before)) == Booked::kAtOnce) {
    finish_admission(turn, pod);
    return;
  }
  pod.standing = Standing::kBooked;
  placing.admitting.push_back(pod.pod.uid);
}

void admit_waiting(PlacingTurn& turn, const std::set<std::string>& uids) {
  std::vector<PlacedPod*> waiting;
  for (const std::string& uid : uids) {
    PlacedPod* pod = find_pod(turn.placing, uid);
    if (pod == nullptr || pod->standing != Standing::kWaiting) continue;
    if (!pod->is_firm || is_stopping(*pod)) continue;
    if (pod->tried < turn.placing.room) waiting.push_back(pod);
  }
  std::sort(waiting.begin(), waiting.end(), [](const PlacedPod* a, const PlacedPod* b) {
    const auto priority = [](const PlacedPod* pod) { return pod->pod.priority.value_or(0); };
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    return a->sequence < b->sequence;
  });
  for (PlacedPod* pod : waiting) try_to_admit(turn, *pod);
}

void withdraw_admissions(PlacingTurn& turn, const Error& error) {
  PlacingState& placing = turn.placing;
  take_back_bookings(turn);
  withdraw_resizes(turn);
  const Error refusal{error.code, fmt::format("cannot save the checkpoint: {}", error.message)};
  for (const std::string& uid : std::exchange(placing.admitting, {})) {
    PlacedPod& pod = placing.pods.at(uid);
    pod.standing = Standing::kWaiting;
    turn.touch(uid);
    if (pod.patience == Patience::kRefusedAtOnce && is_quiet(pod)) {
      turn.tell(PodRefused{.uid = uid, .reason = "UnexpectedAdmissionError", .error = refusal});
    } else {
      wait_for_room(turn, pod, refusal.message);
    }
  }
}

void save_checkpoint(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  if (placing.revision == placing.saved_revision) return;
  placing.saving.ask();
  turn.emit(PersistCheckpoint{.revision = placing.revision, .delta = unsaved_delta(placing)});
}

}  // namespace

bool is_held_by_cordon(const PlacingState& placing, const PlacedPod& pod) {
  return placing.cordoned && pod.obeys_cordon && is_quiet(pod) && pod.is_new;
}

void entitle(const ManagerRules& rules, PlacedPod& pod) {
  if (!rules.pins_cpus) return;
  for (const Container* container : in_starting_order(pod.pod)) {
    pod.containers.at(container->name).exclusive =
        request_of(pod.pod, *container, std::nullopt, rules.admission.pod_gates).cpus;
  }
}

ResizeDecision decide_online(const PlacingTurn& turn, const Pod& now, const Pod& wanted) {
  ResizeDecision decision =
      decide_resize(rules_now(turn), turn.rules.resize, turn.placing.bookings, now, wanted);
  CpuSet taken;
  for (const ContainerResize& container : decision.containers) taken |= container.from_shared;
  if (taken.empty()) return decision;
  auto reason = starves_system(turn, turn.placing.bookings.cpus.exclusive() | taken);
  if (!reason) return decision;
  return {.verdict = ResizeVerdict::kDeferred,
          .refusal = ResizeRefusal{.text = *reason, .message = *reason}};
}

void on_checkpoint_saved(PlacingTurn& turn, const CheckpointSaved& command) {
  PlacingState& placing = turn.placing;
  if (!placing.saving.is_asked() || command.revision != placing.revision) return;
  if (command.error) {
    withdraw_admissions(turn, *command.error);
    // What the file holds now is not known, so that it is written again in any case.
    ++placing.revision;
    turn.warn({}, "FailedSave",
              fmt::format("cannot save the checkpoint: {}", command.error->message));
    turn.emit(
        StartTimer{.timer = {TimerKey::Kind::kSaveRetry, {}}, .after = placing.saving.fail()});
    return;
  }
  placing.saving.succeed();
  // Nothing was done to any container before.
  if (placing.saved_revision == 0) turn.touch_all();
  keep_bookings(turn);
  placing.saved_revision = placing.revision;
  for (const std::string& uid : std::exchange(placing.admitting, {})) {
    finish_admission(turn, placing.pods.at(uid));
  }
  begin_resizes(turn);
}

void on_checkpoint_retry(PlacingTurn& turn) { turn.placing.saving.retry(); }

void on_cordon(PlacingTurn& turn, const SetCordon& command) {
  if (turn.placing.cordoned == command.cordoned) return;
  turn.placing.cordoned = command.cordoned;
  change_room(turn);
  turn.note({}, command.cordoned ? "NodeNotSchedulable" : "NodeSchedulable",
            command.cordoned ? "the node takes no new pods" : "the node takes new pods again");
}

void place_pods(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  if (!placing.saving.may_ask()) return;
  // Every pod that is released makes room, also for pods that are looked at no more in this turn.
  const std::set<std::string> changed = std::exchange(placing.to_place, {});
  for (const std::string& uid : changed) {
    if (PlacedPod* pod = find_pod(placing, uid)) release_what_ended(turn, uid, *pod);
  }
  for (const std::string& uid : changed) {
    if (PlacedPod* pod = find_pod(placing, uid)) finish_shrinks(turn, uid, *pod);
  }
  std::set<std::string> candidates = changed;
  if (placing.room != placing.room_seen) {
    candidates.insert(placing.waiting.begin(), placing.waiting.end());
    placing.room_seen = placing.room;
  }
  // Pods that are there come before pods that want to come.
  decide_resizes(turn, candidates);
  admit_waiting(turn, candidates);
  save_checkpoint(turn);
}

}  // namespace corehold
