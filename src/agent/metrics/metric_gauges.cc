// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metric_gauges.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "agent/metrics/metric_table.h"
#include "base/check.h"
#include "manager/step.h"
#include "serve/process_figures.h"

namespace corehold {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(std::string_view name) {
  const MetricInfo* info = find_metric(name);
  CHECK(info != nullptr);
  return {.name = std::string(name),
          .help = std::string(info->help),
          .type = info->kind == MetricKind::kCounter ? MetricType::Counter : MetricType::Gauge,
          .metric = {}};
}

// Of the type of the family.
void add(MetricFamily& to, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  metric.counter.value = value;
  to.metric.push_back(std::move(metric));
}

MetricFamily single(std::string_view name, double value) {
  MetricFamily made = family(name);
  add(made, {}, value);
  return made;
}

MetricFamily exclusive_by_node(const CpuSet& exclusive, const Topology& topology) {
  MetricFamily made = family("kubelet_cpu_manager_allocation_per_numa");
  for (const Domain<NodeId>& node : topology.nodes()) {
    add(made, {{"numa_node", fmt::to_string(node.id.value)}}, exclusive.count_common(node.cpus));
  }
  return made;
}

MetricFamily pods_by_phase(const NodeState& node) {
  std::map<std::string, int> phases{
      {"Failed", 0}, {"Pending", 0}, {"Running", 0}, {"Succeeded", 0}};
  for (const auto& [uid, pod] : node.running.pods) ++phases[phase_of(pod)];
  MetricFamily made = family("corehold_pods");
  for (const auto& [phase, count] : phases) add(made, {{"phase", phase}}, count);
  return made;
}

MetricFamily pending_resizes(const NodeState& node) {
  int deferred = 0;
  int infeasible = 0;
  for (const auto& [uid, pod] : node.placing.pods) {
    if (!pod.resize.wish) continue;
    if (pod.resize.verdict == ResizeVerdict::kDeferred) ++deferred;
    if (pod.resize.verdict == ResizeVerdict::kInfeasible) ++infeasible;
  }
  MetricFamily made = family("kubelet_pod_pending_resizes");
  add(made, {{"reason", "deferred"}}, deferred);
  add(made, {{"reason", "infeasible"}}, infeasible);
  return made;
}

double resizes_in_progress(const NodeState& node) {
  const auto& pods = node.placing.pods;
  return static_cast<double>(std::count_if(
      pods.begin(), pods.end(), [](const auto& own) { return is_resizing(own.second); }));
}

int delays_pending(const State& cpus) {
  int pending = 0;
  for (const auto& [uid, containers] : cpus.pods) {
    pending +=
        static_cast<int>(std::count_if(containers.begin(), containers.end(), [](const auto& entry) {
          return entry.second.pending.has_value();
        }));
  }
  return pending;
}

MetricFamily build_info(const std::string& version) {
  MetricFamily made = family("corehold_build_info");
  add(made, {{"version", version}}, 1);
  return made;
}

void append_process(std::vector<MetricFamily>& to) {
  const auto figures = process_figures();
  if (!figures) return;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  to.push_back(single("process_cpu_seconds_total", figures->cpu_seconds));
  to.push_back(single("process_max_fds", figures->max_fds));
  to.push_back(single("process_open_fds", number(figures->open_fds)));
  to.push_back(single("process_resident_memory_bytes", number(figures->resident_bytes)));
  to.push_back(single("process_start_time_seconds", figures->start_time));
  to.push_back(single("process_virtual_memory_bytes", number(figures->virtual_bytes)));
}

}  // namespace

std::vector<MetricFamily> metric_gauges(const NodeState& node, const NodeFacts& facts) {
  constexpr int kMillis = 1000;
  const State& cpus = node.placing.bookings.cpus;
  const CpuSet exclusive = cpus.exclusive();
  const CpuSet shared = cpus.shared - facts.setup.reserved - node.placing.offline;
  std::vector<MetricFamily> families{
      build_info(facts.version),
      pods_by_phase(node),
      single("corehold_scale_delays_pending", delays_pending(cpus)),
      exclusive_by_node(exclusive, *facts.setup.topology),
      single("kubelet_cpu_manager_exclusive_cpu_allocation_count", exclusive.size()),
      single("kubelet_cpu_manager_shared_pool_size_millicores", shared.size() * kMillis),
      single("kubelet_pod_in_progress_resizes", resizes_in_progress(node)),
      pending_resizes(node),
  };
  append_process(families);
  return families;
}

}  // namespace corehold
