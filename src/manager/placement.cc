// SPDX-License-Identifier: Apache-2.0
#include "manager/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/code.h"
#include "features/match.h"
#include "features/pod_questions.h"
#include "manager/admission_counts.h"
#include "manager/facts.h"
#include "manager/resize_course.h"
#include "manager/resizing.h"
#include "manager/saving.h"

namespace corehold {
namespace {

constexpr std::string_view kUnschedulable = "Unschedulable";
constexpr const char* kCordoned =
    "the node is cordoned: it takes no new pods until it is uncordoned";

bool are_cpus_equal(const State& a, const State& b) {
  return a.shared == b.shared && a.pods == b.pods;
}

void release_pod(Turn& turn, const std::string& uid, PodState& pod) {
  NodeState& node = turn.node;
  if (node.bookings.cpus.pods.contains(uid)) ++node.revision;
  node.bookings = release(turn.rules.admission, std::move(node.bookings), uid);
  ++node.freed;
  pod.admitted = false;
}

// An init container leaves what no other container of its pod uses, unless it may have to run
// again.
void release_ended_inits(Turn& turn, const std::string& uid, const PodState& pod) {
  State& cpus = turn.node.bookings.cpus;
  for (const Container& container : pod.record.pod.init_containers) {
    const ContainerRef ref{uid, container.name};
    if (container.kind != Container::Kind::kInit || cpus.find(ref) == nullptr) continue;
    if (!pod.record.containers.at(container.name).ended) continue;
    if (turn.rules.restart_all && restarts_all_containers(pod.record.pod)) continue;
    apply(cpus, turn.rules.admission.policy.release(cpus, ref));
    ++turn.node.revision;
    ++turn.node.freed;
  }
}

void release_what_ended(Turn& turn) {
  for (auto& [uid, pod] : turn.node.pods) {
    if (!pod.saved) continue;
    if (has_finished(pod)) {
      if (holds_anything(turn.node.bookings, uid)) release_pod(turn, uid, pod);
      drop_resize(pod);
    } else {
      release_ended_inits(turn, uid, pod);
    }
  }
}

Code code_of(const Refusal& refusal) {
  for (const Code code : {Code::kExhausted, Code::kUnaligned}) {
    if (admission_reason(code) == refusal.reason) return code;
  }
  return refusal.reason == "TopologyAffinityError" ? Code::kExhausted : Code::kConflict;
}

void wait_for_room(Turn& turn, PodState& pod, const std::string& message) {
  if (pod.record.message == message) return;
  pod.record.reason = kUnschedulable;
  pod.record.message = message;
  turn.warn({pod.record.pod.uid, ""}, "FailedScheduling", message);
}

void turn_away(Turn& turn, PodState& pod, std::string reason, const Error& error) {
  answer(turn, pod.run_request, error);
  pod.run_request = 0;
  pod.record.failed = true;
  // As a kubelet's: it was the node's to run when the node refused it.
  if (pod.record.started_at == WallTime{}) pod.record.started_at = turn.now.wall;
  pod.record.reason = reason;
  pod.record.message = error.message;
  turn.emit(CountMetric{"kubelet_admission_rejections_total", {{"reason", reason}}});
  turn.warn({pod.record.pod.uid, ""}, std::move(reason), error.message);
  // Of a refused run nothing is kept.
  if (pod.record.source != Source::kRun) mark_changed(pod);
}

void refuse(Turn& turn, PodState& pod, const Refusal& refusal) {
  pod.tried = turn.node.freed;
  const bool waits = pod.record.source == Source::kApi ||
                     pod.record.source == Source::kRunWaiting || !is_quiet(pod);
  if (waits) {
    wait_for_room(turn, pod, refusal.message);
  } else {
    turn_away(turn, pod, refusal.reason, {code_of(refusal), refusal.message});
  }
}

void finish_admission(Turn& turn, PodState& pod) {
  const std::string& uid = pod.record.pod.uid;
  const Bookings& bookings = turn.node.bookings;
  pod.admitted = true;
  if (pod.record.started_at == WallTime{}) pod.record.started_at = turn.now.wall;
  pod.record.reason.clear();
  pod.record.message.clear();
  const auto memory = bookings.memory.pods().find(uid);
  if (memory != bookings.memory.pods().end()) pod.record.memory = memory->second;
  const auto devices = bookings.devices.pods().find(uid);
  if (devices != bookings.devices.pods().end()) pod.record.devices = devices->second;
  mark_changed(pod);
  answer(turn, pod.run_request, std::nullopt);
  pod.run_request = 0;
}

// Pods go by their names in what is said of them.
AdmissionRules naming_rules(const Turn& turn) {
  AdmissionRules rules = turn.rules.admission;
  rules.pod_name = [&node = turn.node](const std::string& uid) {
    const auto found = node.pods.find(uid);
    return found == node.pods.end() ? uid : display_name(found->second.record.pod);
  };
  return rules;
}

// CPUs that are offline are nobody's to be given, yet stay where they are booked.
Decision admit_online(Turn& turn, const PodState& pod) {
  const AdmissionRules rules = naming_rules(turn);
  const CpuSet absent = turn.node.bookings.cpus.shared & turn.node.offline;
  if (absent.empty()) return admit(rules, turn.node.bookings, pod.record.pod);
  Bookings online = turn.node.bookings;
  online.cpus.shared -= absent;
  Decision decision = admit(rules, online, pod.record.pod);
  decision.after.cpus.shared |= absent;
  return decision;
}

bool is_held_by_cordon(const NodeState& node, const PodState& pod) {
  const bool is_new = pod.record.started_at == WallTime{};
  return node.cordoned && pod.record.source == Source::kApi && is_quiet(pod) && is_new;
}

// All that it holds, though none of it runs.
void give_up(Turn& turn, PodState& pod) {
  release_pod(turn, pod.record.pod.uid, pod);
  drop_resize(pod);
  pod.record.memory.clear();
  pod.record.devices.clear();
  mark_changed(pod);
}

void try_to_admit(Turn& turn, PodState& pod) {
  NodeState& node = turn.node;
  if (is_held_by_cordon(node, pod)) {
    pod.tried = node.freed;
    wait_for_room(turn, pod, kCordoned);
    return;
  }
  Decision decision = admit_online(turn, pod);
  if (decision.refusal && is_quiet(pod) && holds_anything(node.bookings, pod.record.pod.uid)) {
    // What it has kept stands in its own way: it is placed as if it were new.
    give_up(turn, pod);
    decision = admit_online(turn, pod);
  }
  count_admission(turn, pod.record.pod, decision);
  if (decision.refusal) {
    refuse(turn, pod, *decision.refusal);
    return;
  }
  const bool durable = are_cpus_equal(decision.after.cpus, node.bookings.cpus);
  if (!durable) {
    ++node.revision;
    ++node.freed;  // under a topology policy one that takes CPUs may let another fit
  }
  if (durable && !node.before_admitting) {
    node.bookings = std::move(decision.after);
    finish_admission(turn, pod);
    return;
  }
  if (!node.before_admitting) node.before_admitting = std::move(node.bookings);
  node.bookings = std::move(decision.after);
  node.admitting.push_back(pod.record.pod.uid);
}

void admit_waiting(Turn& turn) {
  std::vector<PodState*> waiting;
  for (auto& [uid, pod] : turn.node.pods) {
    if (pod.admitted || !pod.saved || is_stopping(pod)) continue;
    if (pod.tried < turn.node.freed) waiting.push_back(&pod);
  }
  std::sort(waiting.begin(), waiting.end(), [](const PodState* a, const PodState* b) {
    const auto priority = [](const PodState* pod) { return pod->record.pod.priority.value_or(0); };
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    return a->record.sequence < b->record.sequence;
  });
  for (PodState* pod : waiting) try_to_admit(turn, *pod);
}

void withdraw_admissions(Turn& turn, const Error& error) {
  NodeState& node = turn.node;
  if (node.before_admitting) node.bookings = *std::move(node.before_admitting);
  node.before_admitting.reset();
  ++node.freed;
  withdraw_resizes(turn);
  const Error refusal{error.code, fmt::format("cannot save the checkpoint: {}", error.message)};
  for (const std::string& uid : std::exchange(node.admitting, {})) {
    PodState& pod = node.pods.at(uid);
    if (pod.record.source == Source::kRun && is_quiet(pod)) {
      turn_away(turn, pod, "UnexpectedAdmissionError", refusal);
    } else {
      wait_for_room(turn, pod, refusal.message);
    }
  }
}

}  // namespace

ResizeDecision decide_online(const Turn& turn, const Pod& now, const Pod& wanted) {
  const AdmissionRules rules = naming_rules(turn);
  const Bookings& bookings = turn.node.bookings;
  if (!bookings.cpus.shared.intersects(turn.node.offline)) {
    return decide_resize(rules, turn.rules.resize, bookings, now, wanted);
  }
  Bookings online = bookings;
  online.cpus.shared -= turn.node.offline;
  return decide_resize(rules, turn.rules.resize, online, now, wanted);
}

void on_checkpoint_saved(Turn& turn, const CheckpointSaved& command) {
  NodeState& node = turn.node;
  if (!node.persisting || command.revision != node.revision) return;
  node.persisting = false;
  if (command.error) {
    withdraw_admissions(turn, *command.error);
    // What the file holds now is not known, so that it is written again in any case.
    ++node.revision;
    node.checkpoint_waits = true;
    const auto delay = retry_delay(++node.checkpoint_failures);
    turn.warn({}, "FailedSave",
              fmt::format("cannot save the checkpoint: {}", command.error->message));
    turn.emit(StartTimer{.timer = {TimerKey::Kind::kSaveRetry, {}}, .after = delay});
    return;
  }
  node.checkpoint_failures = 0;
  node.saved_revision = node.revision;
  node.durable = node.bookings.cpus;
  node.before_admitting.reset();
  for (const std::string& uid : std::exchange(node.admitting, {})) {
    finish_admission(turn, node.pods.at(uid));
  }
  begin_resizes(turn);
}

void on_cordon(Turn& turn, const SetCordon& command) {
  if (turn.node.cordoned == command.cordoned) return;
  turn.node.cordoned = command.cordoned;
  ++turn.node.freed;
  turn.note({}, command.cordoned ? "NodeNotSchedulable" : "NodeSchedulable",
            command.cordoned ? "the node takes no new pods" : "the node takes new pods again");
}

void refuse_unsupported(Turn& turn) {
  if (!turn.rules.features) return;
  for (auto& [uid, pod] : turn.node.pods) {
    if (pod.features_checked || !pod.saved || is_stopping(pod)) continue;
    if (is_held_by_cordon(turn.node, pod)) continue;
    pod.features_checked = true;
    const auto refusal = feature_refusal(*turn.rules.features, pod.record.pod);
    if (!refusal) continue;
    turn_away(turn, pod, std::string(kPodFeatureUnsupported), {Code::kUnsupported, *refusal});
  }
}

void place_pods(Turn& turn) {
  NodeState& node = turn.node;
  if (node.persisting || node.checkpoint_waits) return;
  release_what_ended(turn);
  finish_shrinks(turn);
  // Who is there comes before who wants to come.
  decide_resizes(turn);
  admit_waiting(turn);
  if (node.revision == node.saved_revision) return;
  node.persisting = true;
  turn.emit(PersistCheckpoint{.revision = node.revision, .state = node.bookings.cpus});
}

void restore_bookings(Turn& turn, const std::string& uid, const PodRecord& record) {
  const auto report = [&](const std::string& container, const Result<void>& restored) {
    if (!restored) turn.warn({uid, container}, "FailedRestore", restored.error().message);
  };
  for (const auto& [container, holding] : record.memory) {
    report(container, turn.node.bookings.memory.restore(uid, container, holding));
  }
  for (const auto& [container, holding] : record.devices) {
    report(container, turn.node.bookings.devices.restore(uid, container, holding));
  }
}

}  // namespace corehold
