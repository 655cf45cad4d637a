// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "manager/facts.h"
#include "manager/step.h"

namespace corehold {
namespace {

bool has_app_failed(const PodRecord& record) {
  const auto& apps = record.pod.containers;
  return std::any_of(apps.begin(), apps.end(), [&](const Container& container) {
    const ContainerRecord& found = record.containers.at(container.name);
    return !found.last_exit || found.last_exit->code != 0;
  });
}

bool has_app_run(const PodState& pod) {
  const auto& apps = pod.record.pod.containers;
  return std::any_of(apps.begin(), apps.end(), [&](const Container& container) {
    return pod.containers.at(container.name).stage == Stage::kRunning ||
           pod.record.containers.at(container.name).exits > 0;
  });
}

}  // namespace

std::string phase_of(const PodState& pod) {
  if (pod.record.failed) return "Failed";
  if (is_quiet(pod)) {
    if (has_failed_init(pod.record)) return "Failed";
    if (have_apps_ended(pod.record)) return has_app_failed(pod.record) ? "Failed" : "Succeeded";
  }
  return has_app_run(pod) ? "Running" : "Pending";
}

}  // namespace corehold
