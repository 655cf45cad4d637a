// SPDX-License-Identifier: Apache-2.0
#include "manager/running/facts.h"

#include <algorithm>

#include "pod/restart_rules.h"

namespace corehold {
namespace {

const ContainerRecord* record_of(const PodRecord& record, const std::string& name) {
  const auto found = record.containers.find(name);
  return found == record.containers.end() ? nullptr : &found->second;
}

bool has_ended(const PodRecord& record, const std::string& name) {
  const ContainerRecord* found = record_of(record, name);
  return found != nullptr && found->ended;
}

bool has_succeeded(const PodRecord& record, const std::string& name) {
  const ContainerRecord* found = record_of(record, name);
  return found != nullptr && found->ended && found->last_exit && found->last_exit->code == 0;
}

// A sidecar holds up the containers after it only until it has run once since the pod started
// (over).
bool has_run(const RunPod& pod, const std::string& name) {
  if (is_running(pod.containers.at(name).stage)) return true;
  const ContainerRecord* found = record_of(pod.record, name);
  return found != nullptr && found->last_exit && found->exits > found->began &&
         found->last_exit->cause != ExitCause::kNotStarted;
}

bool has_app_failed(const PodRecord& record) {
  const auto& apps = record.pod.containers;
  return std::any_of(apps.begin(), apps.end(), [&](const Container& container) {
    const ContainerRecord& found = record.containers.at(container.name);
    return !found.last_exit || found.last_exit->code != 0;
  });
}

bool has_app_run(const RunPod& pod) {
  const auto& apps = pod.record.pod.containers;
  return std::any_of(apps.begin(), apps.end(), [&](const Container& container) {
    return is_running(pod.containers.at(container.name).stage) ||
           pod.record.containers.at(container.name).exits > 0;
  });
}

}  // namespace

bool is_run(Source source) { return source == Source::kRun || source == Source::kRunWaiting; }

RunPod* find_pod(RunningState& running, const std::string& uid) {
  const auto found = running.pods.find(uid);
  return found == running.pods.end() ? nullptr : &found->second;
}

const RunPod* find_pod(const RunningState& running, const std::string& uid) {
  const auto found = running.pods.find(uid);
  return found == running.pods.end() ? nullptr : &found->second;
}

RunContainer* find_container(RunningState& running, const ContainerRef& ref) {
  RunPod* pod = find_pod(running, ref.pod);
  if (pod == nullptr) return nullptr;
  const auto found = pod->containers.find(ref.container);
  return found == pod->containers.end() ? nullptr : &found->second;
}

bool restarts(const PodRecord& record, const Container& container, int code) {
  if (is_run(record.source)) return false;
  if (container.kind == Container::Kind::kSidecar) return true;
  if (container.kind == Container::Kind::kInit && code == 0) return false;
  if (restart_action(record.pod, container, code) == RestartAction::kRestart) return true;
  const std::string& policy =
      container.restart_policy.empty() ? record.pod.restart_policy : container.restart_policy;
  if (policy == "Never") return false;
  return policy != "OnFailure" || code != 0;
}

bool has_failed_init(const PodRecord& record) {
  const auto& inits = record.pod.init_containers;
  return std::any_of(inits.begin(), inits.end(), [&](const Container& container) {
    return container.kind == Container::Kind::kInit && has_ended(record, container.name) &&
           !has_succeeded(record, container.name);
  });
}

bool have_apps_ended(const PodRecord& record) {
  const auto& apps = record.pod.containers;
  return std::all_of(apps.begin(), apps.end(),
                     [&](const Container& container) { return has_ended(record, container.name); });
}

bool is_stopping(const RunPod& pod) {
  return pod.record.failed || pod.stored_deletion.at != WallTime{} || has_failed_init(pod.record) ||
         have_apps_ended(pod.record);
}

bool is_quiet(const RunPod& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& entry) { return !is_up(entry.second.stage); });
}

bool has_finished(const RunPod& pod) { return is_stopping(pod) && is_quiet(pod); }

bool is_leaving(const RunPod& pod) {
  return pod.stored_deletion.at != WallTime{} || is_run(pod.record.source);
}

std::vector<const Container*> whose_turn(const RunPod& pod) {
  std::vector<const Container*> turn;
  for (const Container& container : pod.record.pod.init_containers) {
    if (container.kind == Container::Kind::kInit) {
      if (has_succeeded(pod.record, container.name)) continue;
      turn.push_back(&container);
      return turn;
    }
    turn.push_back(&container);
    if (!has_run(pod, container.name)) return turn;
  }
  for (const Container& container : pod.record.pod.containers) turn.push_back(&container);
  return turn;
}

std::string phase_of(const RunPod& pod) {
  if (pod.record.failed) return "Failed";
  if (is_quiet(pod)) {
    if (has_failed_init(pod.record)) return "Failed";
    if (have_apps_ended(pod.record)) return has_app_failed(pod.record) ? "Failed" : "Succeeded";
  }
  return has_app_run(pod) ? "Running" : "Pending";
}

}  // namespace corehold
