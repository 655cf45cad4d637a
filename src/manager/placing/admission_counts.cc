// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/admission_counts.h"

#include <algorithm>

namespace corehold {
namespace {

enum class Aligned { kYes, kNo };

void count(PlacingTurn& turn, const char* name) { turn.emit(CountMetric{name, {}}); }

void count_aligned(PlacingTurn& turn, const char* scope, const char* boundary, Aligned aligned) {
  turn.emit(CountMetric{aligned == Aligned::kYes
                            ? "kubelet_container_aligned_compute_resources_count"
                            : "kubelet_container_aligned_compute_resources_failure_count",
                        {{"scope", scope}, {"boundary", boundary}}});
}

// Whether the topology manager's policy could not be met, before or while CPUs were chosen.
bool is_unaligned(const Decision& decision) {
  return decision.refusal && decision.refusal->reason == "TopologyAffinityError";
}

// Whether the decision ended at this container.
bool has_failed(const Decision& decision, const ContainerDecision& container) {
  return decision.refusal && decision.refusal->container == container.container;
}

bool are_in_one_uncore(const Topology& topology, const CpuSet& cpus) {
  return std::all_of(cpus.begin(), cpus.end(), [&](CpuId cpu) {
    return topology.place(cpu).uncore == topology.place(cpus.first()).uncore;
  });
}

// A container that has been found CPUs, or for whom there were none.
void count_pinning(PlacingTurn& turn, const Decision& decision,
                   const ContainerDecision& container) {
  const bool has_no_cpus = container.granted.empty();
  const bool is_full_cores_only = turn.rules.invariants.full_pcpus_only;
  count(turn, "kubelet_cpu_manager_pinning_requests_total");
  if (has_failed(decision, container) && has_no_cpus) {
    count(turn, "kubelet_cpu_manager_pinning_errors_total");
    if (is_full_cores_only) count_aligned(turn, "container", "physical_cpu", Aligned::kNo);
    return;
  }
  if (is_full_cores_only) count_aligned(turn, "container", "physical_cpu", Aligned::kYes);
  if (container.had_cpus || has_no_cpus) return;
  if (are_in_one_uncore(turn.rules.admission.topology, container.granted)) {
    count_aligned(turn, "container", "uncore_cache", Aligned::kYes);
  }
}

// Only one policy guarantees that what is admitted is aligned.
bool guarantees(const PlacingTurn& turn, TopologyScope scope) {
  const TopologyOptions& options = turn.rules.admission.topology_options;
  return options.policy == TopologyPolicy::kSingleNumaNode && options.scope == scope;
}

void count_container(PlacingTurn& turn, const Decision& decision,
                     const ContainerDecision& container) {
  const bool has_ended_here = has_failed(decision, container);
  const bool unaligned = has_ended_here && is_unaligned(decision);
  if (turn.rules.pins_cpus && container.cpus_asked > 0 && !unaligned) {
    count_pinning(turn, decision, container);
  }
  if (!guarantees(turn, TopologyScope::kContainer)) return;
  if (unaligned) count_aligned(turn, "container", "numa_node", Aligned::kNo);
  if (!has_ended_here) count_aligned(turn, "container", "numa_node", Aligned::kYes);
}

}  // namespace

void count_admission(PlacingTurn& turn, const Decision& decision) {
  count(turn, "kubelet_topology_manager_admission_requests_total");
  if (decision.refusal) count(turn, "kubelet_topology_manager_admission_errors_total");
  for (const ContainerDecision& container : decision.containers) {
    count_container(turn, decision, container);
  }
  if (!guarantees(turn, TopologyScope::kPod)) return;
  if (is_unaligned(decision)) count_aligned(turn, "pod", "numa_node", Aligned::kNo);
  if (!decision.refusal) count_aligned(turn, "pod", "numa_node", Aligned::kYes);
}

}  // namespace corehold
