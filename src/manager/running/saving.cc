// SPDX-License-Identifier: Apache-2.0
#include "manager/running/saving.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/placing.h"
#include "manager/placing/resize_events.h"
#include "manager/record_json.h"
#include "manager/running/facts.h"
#include "policy/admission.h"

namespace corehold {
namespace {

void wait_for_store(RunningTurn& turn, const std::string& uid, RunPod& pod, const Error& error,
                    std::string_view what) {
  turn.touch(uid);
  turn.warn({uid, ""}, "FailedSave", fmt::format("cannot {}: {}", what, error.message));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kSaveRetry, {uid, ""}},
                       .after = pod.store.attempt.fail()});
}

void withdraw_deletion(RunPod& pod) {
  pod.record.deleted_at = pod.stored_deletion.at;
  pod.record.grace = pod.stored_deletion.grace;
}

// A pod that could not be created. Whether the store has it after all is not known, so
// that it has to be forgotten; the requests are answered then, so that a client that asks again
// does not meet the remains of its first try.
void never_was(RunningTurn& turn, RunPod& pod, const Error& error) {
  pod.refusal = error;
  pod.answered.insert(pod.answered.end(), pod.waiters.begin(), pod.waiters.end());
  if (pod.run_request != 0) pod.answered.push_back({.request = pod.run_request});
  pod.waiters.clear();
  pod.run_request = 0;
  pod.record.deleted_at = turn.now.wall;
  pod.stored_deletion = {.at = turn.now.wall, .grace = {}};
  pod.store = {};
  turn.touch(pod.record.pod.uid);
}

// The pod asks for this resize from now on.
void set_wish(RunningTurn& turn, RunPod& pod, std::optional<ResizeWish> wish) {
  PodRecord& record = pod.record;
  take(turn.placing,
       WishResize{.uid = record.pod.uid, .wish = std::move(wish), .generation = record.generation});
  const PlacedPod* placed = find_pod(turn.placing.placing, record.pod.uid);
  if (placed != nullptr) record.wish = placed->resize.wish;
}

void take_back_edit(RunningTurn& turn, RunPod& pod) {
  if (!pod.edit) return;
  // What was granted meanwhile stays granted.
  Pod before = std::move(pod.edit->before);
  copy_resources(pod.record.pod, before);
  pod.record.pod = std::move(before);
  pod.record.generation = pod.edit->generation;
  set_wish(turn, pod, std::move(pod.edit->wish));
  pod.edit.reset();
  ++pod.edits;
}

bool asks_for_the_same(const Pod& a, const Pod& b) {
  return a.containers == b.containers && a.init_containers == b.init_containers &&
         a.resources == b.resources && a.name == b.name && a.namespace_name == b.namespace_name;
}

// Whether they differ in nothing but resources.
bool are_alike_but_for_resources(const Pod& a, const Pod& b) {
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

// The pod says of itself what `next` says, but has the resources that it was granted; taken
// back if the store refuses it. REQUIRES: they have the same containers.
void edit_pod(RunPod& pod, Pod next) {
  copy_resources(pod.record.pod, next);
  pod.edit = UnsavedEdit{.before = std::exchange(pod.record.pod, std::move(next)),
                         .wish = pod.record.wish,
                         .generation = pod.record.generation};
  ++pod.edits;
}

// The pod that is to be changed; null, with an answer, when it cannot be now.
RunPod* find_editable(RunningTurn& turn, const std::string& uid, RequestId request) {
  RunPod* pod = find_pod(turn.running, uid);
  if (pod == nullptr || pod->store.is_forgetting()) {
    answer(turn, request, Error{Code::kNotFound, fmt::format("there is no pod with UID {}", uid)});
    return nullptr;
  }
  if (!pod->store.is_saved()) {
    answer(turn, request,
           Error{Code::kConflict,
                 "an earlier change of the pod is not in the store yet; try again later"});
    return nullptr;
  }
  return pod;
}

void save_failed(RunningTurn& turn, const std::string& uid, RunPod& pod, const Error& error) {
  if (!pod.store.has_any) {
    never_was(turn, pod, error);
    return;
  }
  const std::vector<SaveWaiter> failed = std::move(pod.answered);
  pod.answered.clear();
  for (const SaveWaiter& waiter : failed) answer(turn, waiter.request, error);
  const bool deleted = std::any_of(failed.begin(), failed.end(),
                                   [](const SaveWaiter& waiter) { return waiter.deletes; });
  const bool asked_again = std::any_of(pod.waiters.begin(), pod.waiters.end(),
                                       [](const SaveWaiter& waiter) { return waiter.deletes; });
  if (deleted && !asked_again) withdraw_deletion(pod);
  take_back_edit(turn, pod);
  mark_changed(turn, pod);
  wait_for_store(turn, uid, pod, error, "save the pod");
}

// The files and processes of a pod that is about to be forgotten.
void clear_away(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  for (auto& [name, container] : pod.containers) {
    if (container.stage == Stage::kBackingOff) {
      turn.emit(CancelTimer{{TimerKey::Kind::kRestart, {uid, name}}});
      container.stage = Stage::kIdle;
    }
    if (!std::exchange(container.has_remains, false)) continue;
    turn.emit(RemoveContainer{{uid, name}});
  }
  turn.emit(RemovePodFiles{uid});
}

Patience patience_of(Source source) {
  switch (source) {
    case Source::kApi:
    case Source::kRunWaiting:
      return Patience::kWaits;
    case Source::kStatic:
      return Patience::kRefused;
    case Source::kRun:
      return Patience::kRefusedAtOnce;
  }
  check_failed("every source of pods has its patience", __FILE__, __LINE__);
}

}  // namespace

void answer(const Turn& turn, RequestId request, std::optional<Error> error) {
  if (request != 0) turn.emit(Reply{.request = request, .error = std::move(error)});
}

RunPod& add_pod(RunningTurn& turn, PodRecord record) {
  const std::string uid = record.pod.uid;
  ClaimPod claim{.pod = record.pod,
                 .sequence = record.sequence,
                 .generation = record.generation,
                 .patience = patience_of(record.source),
                 .obeys_cordon = record.source == Source::kApi,
                 .is_new = record.started_at == WallTime{},
                 .waits_for = record.message,
                 .wish = record.wish,
                 .resize_began_at = record.resize_began_at};
  for (const auto& [name, kept] : record.containers) {
    if (kept.actual) claim.actual[name] = *kept.actual;
  }
  take(turn.placing, claim);
  RunPod pod{.record = std::move(record)};
  for (const Container* container : in_starting_order(pod.record.pod)) {
    pod.containers.try_emplace(container->name);
    pod.record.containers.try_emplace(container->name);
  }
  pod.stored_deletion = {.at = pod.record.deleted_at, .grace = pod.record.grace};
  pod.sent_deletion = pod.stored_deletion;
  turn.touch(uid);
  return turn.running.pods.insert_or_assign(uid, std::move(pod)).first->second;
}

void mark_changed(RunningTurn& turn, RunPod& pod, Durability durability) {
  pod.store.changed = true;
  if (durability == Durability::kSynced) pod.store.needs_sync = true;
  turn.touch(pod.record.pod.uid);
}

void on_create(RunningTurn& turn, const CreatePod& command) {
  const std::string& uid = command.pod.uid;
  if (turn.running.pods.contains(uid)) {
    answer(turn, command.request,
           Error{Code::kConflict, fmt::format("pod {} has the UID {} of another pod",
                                              display_name(command.pod), uid)});
    return;
  }
  if (is_run(command.source) && !turn.rules.pins_cpus) {
    answer(
        turn, command.request,
        Error{Code::kUnsupported,
              "this node gives nobody CPUs of their own: its cpuManagerPolicy is none; set it to "
              "static"});
    return;
  }
  RunPod& pod = add_pod(turn, {.pod = command.pod,
                               .source = command.source,
                               .sequence = turn.running.next_sequence++,
                               .created_at = turn.now.wall,
                               .grace = termination_grace(command.pod)});
  if (command.source == Source::kRun) {
    pod.run_request = command.request;
  } else {
    pod.waiters.push_back({.request = command.request});
  }
  mark_changed(turn, pod);
}

void on_update(RunningTurn& turn, const UpdatePod& command) {
  RunPod* pod = find_editable(turn, command.pod.uid, command.request);
  if (pod == nullptr) return;
  if (!asks_for_the_same(wanted_pod(pod->record), command.pod)) {
    answer(turn, command.request,
           Error{Code::kInvalid, "containers and what they ask for cannot be changed this way"});
    return;
  }
  edit_pod(*pod, command.pod);
  pod->edit->changes_texts = true;
  if (command.is_new_spec) ++pod->record.generation;
  pod->waiters.push_back({.request = command.request});
  mark_changed(turn, *pod);
}

void on_resize(RunningTurn& turn, const ResizePod& command) {
  RunPod* pod = find_editable(turn, command.pod.uid, command.request);
  if (pod == nullptr) return;
  PodRecord& record = pod->record;
  const Pod wanted = wanted_pod(record);
  if (!are_alike_but_for_resources(record.pod, command.pod)) {
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
  set_wish(turn, *pod,
           ResizeWish{.resources = changes(record.pod, command.pod), .since = turn.now.wall});
  pod->waiters.push_back({.request = command.request});
  mark_changed(turn, *pod);
}

void on_delete(RunningTurn& turn, const DeletePod& command) {
  RunPod* pod = find_pod(turn.running, command.uid);
  if (pod == nullptr) {
    answer(turn, command.request,
           Error{Code::kNotFound, fmt::format("there is no pod with UID {}", command.uid)});
    return;
  }
  PodRecord& record = pod->record;
  const bool again = record.deleted_at != WallTime{};
  const auto grace = std::clamp(command.grace.value_or(termination_grace(record.pod)),
                                std::chrono::seconds{}, kMostGrace);
  const bool never_stored = !pod->store.has_any && pod->stored_deletion.at != WallTime{};
  if (pod->store.is_forgetting() || never_stored) {
    pod->waiters.push_back({.request = command.request, .deletes = true});
    return;
  }
  if (again && record.grace <= grace && pod->store.is_saved()) {
    answer(turn, command.request, std::nullopt);
    return;
  }
  record.grace = again ? std::min(record.grace, grace) : grace;
  if (!again) record.deleted_at = turn.now.wall;
  pod->waiters.push_back({.request = command.request, .deletes = true});
  // A deletion may be saved where another change was not: a part of the disk is kept for it.
  if (pod->store.attempt.is_waiting()) {
    turn.emit(CancelTimer{{TimerKey::Kind::kSaveRetry, {command.uid, ""}}});
    pod->store.attempt.retry();
  }
  mark_changed(turn, *pod);
}

void on_pod_saved(RunningTurn& turn, const PodSaved& command) {
  RunPod* pod = find_pod(turn.running, command.uid);
  if (pod == nullptr || !pod->store.is_saving()) return;
  turn.touch(command.uid);
  if (command.error) {
    save_failed(turn, command.uid, *pod, *command.error);
    return;
  }
  pod->store.attempt.succeed();
  pod->store.has_any = true;
  if (pod->edit && pod->edit->changes_texts) {
    take(turn.placing, AmendPod{.pod = pod->record.pod, .generation = pod->record.generation});
  }
  pod->edit.reset();
  pod->stored_deletion = pod->sent_deletion;
  for (const SaveWaiter& waiter : pod->answered) answer(turn, waiter.request, std::nullopt);
  pod->answered.clear();
}

Forgotten on_pod_forgotten(RunningTurn& turn, const PodForgotten& command) {
  RunPod* pod = find_pod(turn.running, command.uid);
  if (pod == nullptr || !pod->store.is_forgetting()) return Forgotten::kNo;
  turn.touch(command.uid);
  if (pod->refusal) {
    for (const SaveWaiter& waiter : pod->answered) answer(turn, waiter.request, *pod->refusal);
    pod->answered.clear();
  }
  if (command.error) {
    wait_for_store(turn, command.uid, *pod, *command.error, "forget the pod");
    return Forgotten::kNo;
  }
  for (const SaveWaiter& waiter : pod->waiters) answer(turn, waiter.request, std::nullopt);
  take(turn.placing, DropPod{command.uid});
  turn.running.pods.erase(command.uid);
  turn.running.blocked.erase(command.uid);
  return Forgotten::kYes;
}

void on_save_retry(RunningTurn& turn, const std::string& uid) {
  if (RunPod* pod = find_pod(turn.running, uid)) {
    pod->store.attempt.retry();
    turn.touch(uid);
  }
}

void save_pod(RunningTurn& turn, RunPod& pod) {
  if (!pod.store.changed || !pod.store.attempt.may_ask()) return;
  pod.store.changed = false;
  pod.store.asked = StoreState::Asked::kSave;
  pod.store.attempt.ask();
  pod.sent_deletion = {.at = pod.record.deleted_at, .grace = pod.record.grace};
  pod.answered = std::move(pod.waiters);
  pod.waiters.clear();
  const bool needs_sync = std::exchange(pod.store.needs_sync, false);
  turn.emit(SavePod{.record = pod.record,
                    .durability = needs_sync ? Durability::kSynced : Durability::kLazy});
}

void forget_pod(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  const PlacingState& placing = turn.placing.placing;
  if (!is_leaving(pod) || !has_finished(pod) || !pod.store.is_saved()) return;
  if (!pod.store.attempt.may_ask() || is_being_placed(placing, uid)) return;
  if (holds_anything(placing.bookings, uid) || placing.durable.pods.contains(uid)) return;
  clear_away(turn, uid, pod);
  // A pod that leaves, by its record, is forgotten again after a power cut. Of a pod that could not
  // be created the store may have a record by which it does not leave.
  const bool leaves_by_record = pod.store.has_any && !pod.refusal;
  turn.emit(ForgetPod{.uid = uid,
                      .durability = leaves_by_record ? Durability::kLazy : Durability::kSynced});
  pod.store.asked = StoreState::Asked::kForget;
  pod.store.attempt.ask();
}

}  // namespace corehold
