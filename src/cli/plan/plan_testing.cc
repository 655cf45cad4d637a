// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_testing.h"

#include <fmt/format.h>

#include "topology/testing.h"

namespace corehold {

PlanReport report_of(const Topology& topology, const std::vector<Given>& given) {
  PlanReport report{.policy = "static", .reserved = cpus("0-1"), .shared = topology.cpus()};
  for (const Given& one : given) {
    const CpuSet granted = cpus(one.cpus);
    PlannedContainer container{.name = one.container,
                               .cpu_request = std::to_string(granted.size()),
                               .cpus_asked = granted.size(),
                               .entitlement = "because",
                               .is_decided = true,
                               .granted = granted,
                               .promised = granted,
                               .nodes = topology.nodes_of(granted)};
    container.fit = fit_of(topology, topology.cpus() - report.reserved, granted);
    report.shared -= granted;
    if (report.pods.empty() || report.pods.back().name != one.pod) {
      report.pods.push_back({.index = report.pods.size() + 1,
                             .name = one.pod,
                             .uid = one.pod,
                             .qos = QosClass::kGuaranteed});
    }
    report.pods.back().containers.push_back(std::move(container));
  }
  report.free = report.shared - report.reserved;
  report.free_count = report.free.size();
  return report;
}

PlanReport crowded(const Topology& topology, int count, int size) {
  std::vector<std::string> lists;
  lists.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    lists.push_back(fmt::format("{}-{}", 2 + i * size, 1 + (i + 1) * size));
  }
  std::vector<Given> given;
  given.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    given.push_back({.pod = fmt::format("team-{}/worker-{}", i % 3, i),
                     .container = "main",
                     .cpus = lists[static_cast<std::size_t>(i)]});
  }
  return report_of(topology, given);
}

}  // namespace corehold
