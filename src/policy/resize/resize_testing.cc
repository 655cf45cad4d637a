// SPDX-License-Identifier: Apache-2.0
#include "policy/resize/resize_testing.h"

#include <fmt/format.h>

#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {

AdmittingNode resize_node(Topology topology, const StaticOptions& options,
                          std::string_view reserved, const TopologyOptions& alignment) {
  const CpuSet kept = cpus(reserved);
  auto node = AdmittingNode::make(
      std::move(topology),
      {.config = {.options = options, .reserved = kept, .reserved_count = kept.size()},
       .topology = alignment});
  CHECK(node.has_value());
  return *std::move(node);
}

AdmittingNode kep_node(const TopologyOptions& alignment, const StaticOptions& options) {
  return resize_node(machine("2s3c2t"), options, "11", alignment);
}

Pod one(std::string_view name, int cpus) {
  return pod_of(name, {fmt::format("main cpu={} memory=1Gi", cpus)});
}

Pod two(std::string_view name, int c1, int c2) {
  return pod_of(name,
                {fmt::format("c1 cpu={} memory=1Gi", c1), fmt::format("c2 cpu={} memory=1Gi", c2)});
}

std::string admitted(AdmittingNode& node, const Pod& pod) { return text_of(node.admit(pod)); }

std::string resized(AdmittingNode& node, const Pod& wanted) {
  const Bookings before = node.bookings();
  const ResizeDecision decision = node.resize(wanted);
  CHECK(!decision.refusal || node.bookings() == before);
  CHECK(node.problem().empty());
  return text_of(decision);
}

}  // namespace corehold
