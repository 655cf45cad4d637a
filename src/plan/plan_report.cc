// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_report.h"

namespace corehold {

std::vector<Owner> owners(const PlanReport& report) {
  std::vector<Owner> found;
  for (const PlannedPod& pod : report.pods) {
    if (pod.refusal) continue;
    for (const PlannedContainer& container : pod.containers) {
      if (container.kind == Container::Kind::kInit || container.granted.empty()) continue;
      found.push_back({.pod = &pod, .container = &container});
    }
  }
  return found;
}

}  // namespace corehold
