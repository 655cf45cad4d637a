// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metric_table.h"

#include <algorithm>
#include <array>

namespace corehold {
namespace {

using enum MetricKind;

constexpr std::array kTable{
    MetricInfo{"corehold_api_requests_total", kCounter, "verb, resource, code",
               "Answers of the API by verb, resource and HTTP status."},
    MetricInfo{"corehold_build_info", kGauge, "version", "Always 1; the label is the version."},
    MetricInfo{"corehold_cpuset_apply_failures_total", kCounter, "",
               "Attempts to set the CPUs of a running container that failed; each is repeated."},
    MetricInfo{"corehold_drift_repairs_total", kCounter, "",
               "Containers found on CPUs other than theirs and put back."},
    MetricInfo{"corehold_exclusive_grant_seconds", kHistogram, "",
               "Time from the creation of a pod to the first start of each of its containers "
               "with exclusive CPUs, waiting for room included."},
    MetricInfo{"corehold_foreign_interrupts_total", kCounter, "cpu, kind",
               "Interrupts on CPUs that containers hold: of devices that can be moved (device) or "
               "not (managed), of the local timer (timer), and others."},
    MetricInfo{"corehold_foreign_tasks", kGauge, "cpu",
               "Tasks outside the container that ran on a CPU which it holds, between the last two "
               "looks at the machine; threads of the kernel are not counted."},
    MetricInfo{"corehold_isolation_failures_total", kCounter, "",
               "Attempts to keep the rest of the machine off held CPUs that failed; each is "
               "repeated."},
    MetricInfo{
        "corehold_pins_restored_total", kCounter, "",
        "Affinities that tasks outside containers have chosen, that a change of their cpuset "
        "had reset, and that were given back."},
    MetricInfo{"corehold_pods", kGauge, "phase", "Pods on the node by phase."},
    MetricInfo{"corehold_scale_delay_notify_seconds", kHistogram, "",
               "Time from the decision that a container loses CPUs until its files say so."},
    MetricInfo{"corehold_scale_delay_overshoot_seconds", kHistogram, "",
               "Time from the end of a container's delay until the runtime has taken the CPUs."},
    MetricInfo{"corehold_scale_delays_pending", kGauge, "",
               "Containers that have been told to leave CPUs and still hold them."},
    MetricInfo{"corehold_store_commit_seconds", kHistogram, "",
               "Time to make one batch of records and the checkpoint last, syncs included."},
    MetricInfo{
        "corehold_store_commits_total", kCounter, "part",
        "Transactions of records, of one sync each unless lazy, and writes of the checkpoint, of "
        "two."},
    MetricInfo{"corehold_store_failures_total", kCounter, "part",
               "Those of them that failed; each is repeated or refused."},
    MetricInfo{"corehold_store_records_total", kCounter, "",
               "Records of pods and of the node that were to be saved or removed."},
    MetricInfo{"corehold_told_after_taken_total", kCounter, "",
               "Times that CPUs were taken from a container while its files listed them or before "
               "its delay was over; must stay 0."},
    MetricInfo{"kubelet_admission_rejections_total", kCounter, "reason",
               "Pods refused for good, by reason."},
    MetricInfo{"kubelet_container_aligned_compute_resources_count", kCounter, "scope, boundary",
               "Containers or pods whose resources were aligned to the boundary."},
    MetricInfo{"kubelet_container_aligned_compute_resources_failure_count", kCounter,
               "scope, boundary",
               "Containers or pods whose resources could not be aligned to the boundary."},
    MetricInfo{"kubelet_container_requested_resizes_total", kCounter,
               "resource, requirement, operation",
               "Changes of containers' resources asked for by resizes, each resource and each of "
               "request and limit by itself."},
    MetricInfo{"kubelet_cpu_manager_allocation_per_numa", kGauge, "numa_node",
               "Exclusive CPUs given away, by NUMA node."},
    MetricInfo{"kubelet_cpu_manager_exclusive_cpu_allocation_count", kGauge, "",
               "Exclusive CPUs given away."},
    MetricInfo{"kubelet_cpu_manager_pinning_errors_total", kCounter, "",
               "Requests for exclusive CPUs that failed."},
    MetricInfo{"kubelet_cpu_manager_pinning_requests_total", kCounter, "",
               "Requests of containers for exclusive CPUs, each try counted."},
    MetricInfo{"kubelet_cpu_manager_shared_pool_size_millicores", kGauge, "",
               "Online CPUs that are neither exclusive nor reserved, in thousandths of a CPU."},
    MetricInfo{"kubelet_pod_deferred_accepted_resizes_total", kCounter, "retry_trigger",
               "Resizes that had to wait and were accepted later, by what made it possible."},
    MetricInfo{"kubelet_pod_in_progress_resizes", kGauge, "",
               "Pods of which a resize is under way."},
    MetricInfo{"kubelet_pod_infeasible_resizes_total", kCounter, "reason_detail",
               "Resizes that can never be granted, by why."},
    MetricInfo{"kubelet_pod_pending_resizes", kGauge, "reason",
               "Pods whose resize waits or cannot be, by reason."},
    MetricInfo{"kubelet_pod_resize_duration_milliseconds", kHistogram, "success",
               "Milliseconds from the acceptance of a resize until the last container has it."},
    MetricInfo{"kubelet_pod_resources_endpoint_errors_get", kCounter, "server_api_version",
               "Calls of podresources Get that failed."},
    MetricInfo{"kubelet_pod_resources_endpoint_errors_get_allocatable", kCounter,
               "server_api_version", "Calls of podresources GetAllocatableResources that failed."},
    MetricInfo{"kubelet_pod_resources_endpoint_errors_list", kCounter, "server_api_version",
               "Calls of podresources List that failed."},
    MetricInfo{"kubelet_pod_resources_endpoint_requests_get", kCounter, "server_api_version",
               "Calls of podresources Get."},
    MetricInfo{"kubelet_pod_resources_endpoint_requests_get_allocatable", kCounter,
               "server_api_version", "Calls of podresources GetAllocatableResources."},
    MetricInfo{"kubelet_pod_resources_endpoint_requests_list", kCounter, "server_api_version",
               "Calls of podresources List."},
    MetricInfo{"kubelet_pod_resources_endpoint_requests_total", kCounter, "server_api_version",
               "Calls of podresources."},
    MetricInfo{"kubelet_topology_manager_admission_duration_ms", kHistogram, "",
               "Milliseconds to decide about one pod, each try counted."},
    MetricInfo{"kubelet_topology_manager_admission_errors_total", kCounter, "",
               "Decisions that a pod does not fit."},
    MetricInfo{"kubelet_topology_manager_admission_requests_total", kCounter, "",
               "Decisions whether a pod fits, each try counted."},
    MetricInfo{"process_cpu_seconds_total", kCounter, "", "CPU time of the agent, in seconds."},
    MetricInfo{"process_max_fds", kGauge, "", "File descriptors the agent may have open."},
    MetricInfo{"process_open_fds", kGauge, "", "File descriptors the agent has open."},
    MetricInfo{"process_resident_memory_bytes", kGauge, "", "Resident memory of the agent."},
    MetricInfo{"process_start_time_seconds", kGauge, "",
               "Start of the agent, in seconds since the Unix epoch."},
    MetricInfo{"process_virtual_memory_bytes", kGauge, "", "Virtual memory of the agent."},
};

constexpr bool is_before(const MetricInfo& a, const MetricInfo& b) { return a.name < b.name; }
static_assert(std::is_sorted(kTable.begin(), kTable.end(), is_before));

}  // namespace

std::span<const MetricInfo> metric_table() { return kTable; }

const MetricInfo* find_metric(std::string_view name) {
  const auto* const found = std::lower_bound(
      kTable.begin(), kTable.end(), name,
      [](const MetricInfo& info, std::string_view each) { return info.name < each; });
  return found != kTable.end() && found->name == name ? found : nullptr;
}

}  // namespace corehold
