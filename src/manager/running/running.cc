// SPDX-License-Identifier: Apache-2.0
#include "manager/running/running.h"

#include <utility>

#include <fmt/format.h>

#include "features/match.h"
#include "features/pod_questions.h"
#include "manager/placing/admitting.h"
#include "manager/placing/facts.h"
#include "manager/placing/placing.h"
#include "manager/running/facts.h"
#include "manager/running/lifecycle.h"
#include "manager/running/saving.h"

namespace corehold {
namespace {

constexpr std::string_view kUnschedulable = "Unschedulable";

template <typename Function>
void for_work(RunningTurn& turn, Function function) {
  for (const std::string& uid : turn.running.work) {
    if (RunPod* pod = find_pod(turn.running, uid)) function(uid, *pod);
  }
}

void turn_away(RunningTurn& turn, RunPod& pod, std::string reason, const Error& error) {
  answer(turn, pod.run_request, error);
  pod.run_request = 0;
  pod.record.failed = true;
  // As a kubelet's: the pod was the node's to run when the node refused it.
  if (pod.record.started_at == WallTime{}) pod.record.started_at = turn.now.wall;
  pod.record.reason = reason;
  pod.record.message = error.message;
  turn.emit(CountMetric{"kubelet_admission_rejections_total", {{"reason", reason}}});
  turn.warn({pod.record.pod.uid, ""}, std::move(reason), error.message);
  // Of a refused run nothing is kept.
  if (pod.record.source != Source::kRun) mark_changed(turn, pod);
  turn.touch(pod.record.pod.uid);
}

// Fails the pod if it needs features which the node does not declare. Every pod is asked once in
// each life of the agent, new or there before: what a node declares does not change while it
// runs, so that waiting would be in vain. What runs of such a pod is stopped.
void refuse_unsupported(RunningTurn& turn, const std::string& uid, RunPod& pod) {
  if (!turn.rules.features || pod.features_checked) return;
  if (!pod.store.is_saved() || is_stopping(pod)) return;
  const PlacedPod* placed = find_pod(turn.placing.placing, uid);
  if (placed != nullptr && is_held_by_cordon(turn.placing.placing, *placed)) return;
  pod.features_checked = true;
  const auto refusal = feature_refusal(*turn.rules.features, pod.record.pod);
  if (!refusal) return;
  turn_away(turn, pod, std::string(kPodFeatureUnsupported), {Code::kUnsupported, *refusal});
}

Course course_of(const RunPod& pod) {
  if (!is_stopping(pod)) return Course::kStaying;
  return is_quiet(pod) ? Course::kOver : Course::kStopping;
}

// Tells the placing half how it stands with the pod.
void report(RunningTurn& turn, const std::string& uid, const RunPod& pod) {
  for (const auto& [name, record] : pod.record.containers) {
    take(turn.placing, SetDone{.container = {uid, name}, .is_done = record.ended});
  }
  take(turn.placing,
       SetCourse{.uid = uid, .is_firm = pod.store.is_saved(), .course = course_of(pod)});
}

struct Take {
  RunningTurn& turn;

  void operator()(const PodAdmitted& notice) const {
    RunPod& pod = turn.running.pods.at(notice.uid);
    if (pod.record.started_at == WallTime{}) pod.record.started_at = turn.now.wall;
    pod.record.reason.clear();
    pod.record.message.clear();
    // Without the record recovery finds the pod's CPUs in the checkpoint; memory and devices are
    // in the record alone.
    copy_record(notice.uid, pod, Durability::kLazy);
    if (!pod.record.memory.empty() || !pod.record.devices.empty()) mark_changed(turn, pod);
    answer(turn, pod.run_request, std::nullopt);
    pod.run_request = 0;
  }
  void operator()(const PodRefused& notice) const {
    turn_away(turn, turn.running.pods.at(notice.uid), notice.reason, notice.error);
  }
  void operator()(const PodWaits& notice) const {
    RunPod& pod = turn.running.pods.at(notice.uid);
    pod.record.reason = kUnschedulable;
    pod.record.message = notice.message;
    turn.touch(notice.uid);
  }
  void operator()(const PlacedRecordChanged& notice) const {
    copy_record(notice.uid, turn.running.pods.at(notice.uid), Durability::kSynced);
  }
  void operator()(const RestartWanted& notice) const { restart_resized(turn, notice.container); }

  void copy_record(const std::string& uid, RunPod& pod, Durability durability) const {
    const PlacingState& placing = turn.placing.placing;
    copy_placed(placing, placing.pods.at(uid), pod.record);
    mark_changed(turn, pod, durability);
  }
};

}  // namespace

void report_pods(RunningTurn& turn) {
  for (const std::string& uid : std::exchange(turn.running.blocked, {})) turn.touch(uid);
  for_work(turn, [&](const std::string& uid, RunPod& pod) {
    refuse_unsupported(turn, uid, pod);
    report(turn, uid, pod);
  });
}

void take_notices(RunningTurn& turn, const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) std::visit(Take{turn}, notice);
  for (const std::string& uid : turn.placing.placing.work) turn.touch(uid);
}

void save_pods(RunningTurn& turn) {
  for_work(turn, [&](const std::string& uid, RunPod& pod) { start_over(turn, uid, pod); });
  for_work(turn, [&](const std::string&, RunPod& pod) { save_pod(turn, pod); });
}

void run_pods(RunningTurn& turn) {
  for_work(turn, [&](const std::string& uid, RunPod& pod) { start_containers(turn, uid, pod); });
  for_work(turn, [&](const std::string& uid, RunPod& pod) { stop_containers(turn, uid, pod); });
  for_work(turn, [&](const std::string& uid, RunPod& pod) { remove_ended(turn, uid, pod); });
  for_work(turn, [&](const std::string& uid, RunPod& pod) { forget_pod(turn, uid, pod); });
  // What has changed since the placing half decided counts from the next turn on.
  for_work(turn, [&](const std::string& uid, RunPod& pod) { report(turn, uid, pod); });
}

}  // namespace corehold
