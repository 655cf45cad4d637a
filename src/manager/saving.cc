// SPDX-License-Identifier: Apache-2.0
#include "manager/saving.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/record_json.h"
#include "manager/resizing.h"
#include "pod/qos.h"
#include "policy/request.h"

namespace corehold {
namespace {

void wait_for_store(Turn& turn, const std::string& uid, PodState& pod, const Error& error,
                    std::string_view what) {
  pod.save_waits = true;
  const auto delay = retry_delay(++pod.save_failures);
  turn.warn({uid, ""}, "FailedSave", fmt::format("cannot {}: {}", what, error.message));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kSaveRetry, {uid, ""}}, .after = delay});
}

void withdraw_deletion(PodState& pod) {
  pod.record.deleted_at = pod.stored_deletion.at;
  pod.record.grace = pod.stored_deletion.grace;
}

// A pod that could not be created. Whether the store has it after all is not known, so
// that it has to be forgotten.
void never_was(Turn& turn, PodState& pod) {
  pod.waiters.clear();
  pod.run_request = 0;
  pod.record.deleted_at = turn.now.wall;
  pod.stored_deletion = {.at = turn.now.wall, .grace = {}};
  pod.changed = false;
  pod.saved = true;
}

// REQUIRES: the pods have the same containers.
void copy_resources(const Pod& from, Pod& to) {
  for (auto* containers : {&to.init_containers, &to.containers}) {
    for (Container& container : *containers) {
      const Container* source = from.find(container.name);
      CHECK(source != nullptr);
      container.resources = source->resources;
    }
  }
  to.resources = from.resources;
}

void take_back_edit(PodState& pod) {
  if (!pod.edit) return;
  // What was granted meanwhile stays granted.
  Pod before = std::move(pod.edit->before);
  copy_resources(pod.record.pod, before);
  pod.record.pod = std::move(before);
  set_wish(pod.record, std::move(pod.edit->wish));
  pod.record.generation = pod.edit->generation;
  // What the files say by chance already has to be said anew.
  const bool is_told = pod.told_of.texts == pod.version.texts ||
                       (pod.telling && pod.telling_of.texts == pod.version.texts);
  pod.version.texts =
      is_told && pod.version.texts != pod.edit->texts ? pod.version.texts + 1 : pod.edit->texts;
  pod.edit.reset();
  ++pod.edits;
}

bool asks_for_the_same(const Pod& a, const Pod& b) {
  return a.containers == b.containers && a.init_containers == b.init_containers &&
         a.resources == b.resources && a.name == b.name && a.namespace_name == b.namespace_name;
}

void save_failed(Turn& turn, const std::string& uid, PodState& pod, const Error& error) {
  const std::vector<SaveWaiter> failed = std::move(pod.answered);
  pod.answered.clear();
  for (const SaveWaiter& waiter : failed) answer(turn, waiter.request, error);
  if (!pod.in_store) {
    for (const SaveWaiter& waiter : pod.waiters) answer(turn, waiter.request, error);
    answer(turn, pod.run_request, error);
    never_was(turn, pod);
    return;
  }
  const bool deleted = std::any_of(failed.begin(), failed.end(),
                                   [](const SaveWaiter& waiter) { return waiter.deletes; });
  const bool asked_again = std::any_of(pod.waiters.begin(), pod.waiters.end(),
                                       [](const SaveWaiter& waiter) { return waiter.deletes; });
  if (deleted && !asked_again) withdraw_deletion(pod);
  take_back_edit(pod);
  mark_changed(pod);
  wait_for_store(turn, uid, pod, error, "save the pod");
}

// The files and processes of a pod that is about to be forgotten.
void clear_away(Turn& turn, const std::string& uid, PodState& pod) {
  for (auto& [name, container] : pod.containers) {
    if (container.backing_off) {
      turn.emit(CancelTimer{{TimerKey::Kind::kRestart, {uid, name}}});
      container.backing_off = false;
    }
    if (container.removed) continue;
    turn.emit(RemoveContainer{{uid, name}});
    container.removed = true;
  }
  turn.emit(RemovePodFiles{uid});
}

}  // namespace

void answer(Turn& turn, RequestId request, std::optional<Error> error) {
  if (request != 0) turn.emit(Reply{.request = request, .error = std::move(error)});
}

PodState new_pod(const ManagerRules& rules, PodRecord record) {
  PodState pod{.record = std::move(record)};
  for (const Container* container : in_starting_order(pod.record.pod)) {
    pod.containers.try_emplace(container->name);
    pod.record.containers.try_emplace(container->name);
  }
  entitle(rules, pod);
  pod.stored_deletion = {.at = pod.record.deleted_at, .grace = pod.record.grace};
  pod.sent_deletion = pod.stored_deletion;
  return pod;
}

void entitle(const ManagerRules& rules, PodState& pod) {
  if (!rules.pins_cpus) return;
  for (const Container* container : in_starting_order(pod.record.pod)) {
    pod.containers.at(container->name).exclusive =
        request_of(pod.record.pod, *container, std::nullopt, rules.admission.pod_gates).cpus;
  }
}

void mark_changed(PodState& pod) {
  pod.changed = true;
  pod.saved = false;
}

void on_create(Turn& turn, const CreatePod& command) {
  const std::string& uid = command.pod.uid;
  if (turn.node.pods.contains(uid)) {
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
  PodRecord record{.pod = command.pod,
                   .source = command.source,
                   .sequence = turn.node.next_sequence++,
                   .created_at = turn.now.wall,
                   .grace = termination_grace(command.pod)};
  PodState pod = new_pod(turn.rules, std::move(record));
  if (command.source == Source::kRun) {
    pod.run_request = command.request;
  } else {
    pod.waiters.push_back({.request = command.request});
  }
  mark_changed(pod);
  turn.node.pods.emplace(uid, std::move(pod));
}

PodState* find_editable(Turn& turn, const std::string& uid, RequestId request) {
  PodState* pod = find_pod(turn.node, uid);
  if (pod == nullptr || pod->forgetting) {
    answer(turn, request, Error{Code::kNotFound, fmt::format("there is no pod with UID {}", uid)});
    return nullptr;
  }
  if (!pod->saved) {
    answer(turn, request,
           Error{Code::kConflict,
                 "an earlier change of the pod is not in the store yet; try again later"});
    return nullptr;
  }
  return pod;
}

void edit_pod(PodState& pod, Pod next) {
  copy_resources(pod.record.pod, next);
  pod.edit = UnsavedEdit{.before = std::exchange(pod.record.pod, std::move(next)),
                         .wish = pod.record.wish,
                         .generation = pod.record.generation,
                         .texts = pod.version.texts};
  ++pod.edits;
}

void on_update(Turn& turn, const UpdatePod& command) {
  PodState* pod = find_editable(turn, command.pod.uid, command.request);
  if (pod == nullptr) return;
  if (!asks_for_the_same(wanted_pod(pod->record), command.pod)) {
    answer(turn, command.request,
           Error{Code::kInvalid, "containers and what they ask for cannot be changed this way"});
    return;
  }
  edit_pod(*pod, command.pod);
  ++pod->version.texts;
  if (command.is_new_spec) ++pod->record.generation;
  pod->waiters.push_back({.request = command.request});
  mark_changed(*pod);
}

void on_delete(Turn& turn, const DeletePod& command) {
  PodState* pod = find_pod(turn.node, command.uid);
  if (pod == nullptr) {
    answer(turn, command.request,
           Error{Code::kNotFound, fmt::format("there is no pod with UID {}", command.uid)});
    return;
  }
  PodRecord& record = pod->record;
  const bool again = record.deleted_at != WallTime{};
  const auto grace = std::clamp(command.grace.value_or(termination_grace(record.pod)),
                                std::chrono::seconds{}, kMostGrace);
  const bool never_stored = !pod->in_store && pod->stored_deletion.at != WallTime{};
  if (pod->forgetting || never_stored) {
    pod->waiters.push_back({.request = command.request, .deletes = true});
    return;
  }
  if (again && record.grace <= grace && pod->saved) {
    answer(turn, command.request, std::nullopt);
    return;
  }
  record.grace = again ? std::min(record.grace, grace) : grace;
  if (!again) record.deleted_at = turn.now.wall;
  pod->waiters.push_back({.request = command.request, .deletes = true});
  mark_changed(*pod);
}

void on_pod_saved(Turn& turn, const PodSaved& command) {
  PodState* pod = find_pod(turn.node, command.uid);
  if (pod == nullptr || !pod->saving) return;
  pod->saving = false;
  if (command.error) {
    save_failed(turn, command.uid, *pod, *command.error);
    return;
  }
  pod->in_store = true;
  pod->edit.reset();
  pod->save_failures = 0;
  pod->saved = !pod->changed;
  pod->stored_deletion = pod->sent_deletion;
  for (const SaveWaiter& waiter : pod->answered) answer(turn, waiter.request, std::nullopt);
  pod->answered.clear();
}

void on_pod_forgotten(Turn& turn, const PodForgotten& command) {
  PodState* pod = find_pod(turn.node, command.uid);
  if (pod == nullptr || !pod->forgetting) return;
  if (command.error) {
    pod->forgetting = false;
    wait_for_store(turn, command.uid, *pod, *command.error, "forget the pod");
    return;
  }
  for (const SaveWaiter& waiter : pod->waiters) answer(turn, waiter.request, std::nullopt);
  if (turn.node.observing) turn.node.gone_meanwhile.insert(command.uid);
  turn.node.pods.erase(command.uid);
}

void save_pods(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.changed || pod.saving || pod.save_waits || pod.forgetting) continue;
    pod.changed = false;
    pod.saving = true;
    pod.sent_deletion = {.at = pod.record.deleted_at, .grace = pod.record.grace};
    pod.answered = std::move(pod.waiters);
    pod.waiters.clear();
    turn.emit(SavePod{pod.record});
  }
}

void forget_pods(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!is_leaving(pod) || !has_finished(pod) || !pod.saved) continue;
    if (pod.forgetting || pod.save_waits || is_being_placed(turn.node, uid)) continue;
    if (holds_anything(turn.node.bookings, uid) || turn.node.durable.pods.contains(uid)) continue;
    clear_away(turn, uid, pod);
    turn.emit(ForgetPod{uid});
    pod.forgetting = true;
  }
}

}  // namespace corehold
