// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "agent/metrics/metric_gauges.h"
#include "agent/metrics/metric_table.h"

namespace corehold {
namespace {

using Labels = prometheus::Labels;

constexpr std::string_view kResizeDuration = "kubelet_pod_resize_duration_milliseconds";
constexpr std::string_view kNotify = "corehold_scale_delay_notify_seconds";
constexpr std::string_view kOvershoot = "corehold_scale_delay_overshoot_seconds";
constexpr const char* kAdmissions = "kubelet_topology_manager_admission_requests_total";
constexpr const char* kApiRequests = "corehold_api_requests_total";
constexpr const char* kCommit = "corehold_store_commit_seconds";
constexpr const char* kCommits = "corehold_store_commits_total";
constexpr const char* kCommitFailures = "corehold_store_failures_total";
constexpr const char* kRecords = "corehold_store_records_total";

// So many bounds, each twice the one before.
prometheus::Histogram::BucketBoundaries doubling(double first, int count) {
  prometheus::Histogram::BucketBoundaries bounds;
  for (double bound = first; count > 0; --count, bound *= 2) bounds.push_back(bound);
  return bounds;
}

// As the kubelet has them: from 0.05 ms on.
prometheus::Histogram::BucketBoundaries admission_buckets() { return doubling(0.05, 15); }

// A container that finds room at once starts within milliseconds; a container that has to wait
// for another to end may wait for hours.
prometheus::Histogram::BucketBoundaries grant_buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
          1,     2.5,    5,     10,   30,    60,   300, 1800, 7200};
}

// A resize that gives and takes nothing on the way is over within milliseconds; with a delay
// or others to wait for it may take minutes.
prometheus::Histogram::BucketBoundaries resize_buckets() { return doubling(1, 19); }

// A file or a cpuset is written within a millisecond or so; what fails is tried again from a
// second on.
prometheus::Histogram::BucketBoundaries reaction_buckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
          0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30};
}

// Series that are there from the start, so that a rate can be taken of their first increase.
struct Series {
  const char* name;
  Labels labels{};
};

std::vector<Series> first_series() {
  std::vector<Series> all{
      {"corehold_cpuset_apply_failures_total"},
      {"corehold_drift_repairs_total"},
      {"corehold_isolation_failures_total"},
      {"corehold_pins_restored_total"},
      {"corehold_told_after_taken_total"},
      {"kubelet_cpu_manager_pinning_errors_total"},
      {"kubelet_cpu_manager_pinning_requests_total"},
      {"kubelet_topology_manager_admission_errors_total"},
      {kAdmissions},
      {kCommits, {{"part", "checkpoint"}}},
      {kCommits, {{"part", "lazy_records"}}},
      {kCommits, {{"part", "records"}}},
      {kCommitFailures, {{"part", "checkpoint"}}},
      {kCommitFailures, {{"part", "lazy_records"}}},
      {kCommitFailures, {{"part", "records"}}},
      {kRecords},
      {kApiRequests, {{"code", "200"}, {"resource", "none"}, {"verb", "get"}}},
  };
  for (const char* resource : {"cpu", "memory"}) {
    for (const char* requirement : {"limits", "requests"}) {
      for (const char* operation : {"decrease", "increase"}) {
        all.push_back(
            {"kubelet_container_requested_resizes_total",
             {{"resource", resource}, {"requirement", requirement}, {"operation", operation}}});
      }
    }
  }
  for (const char* error : {"getPromisedCPUSetError", "inconsistentCPUAllocationError", "other",
                            "prohibitedCPUAllocationError"}) {
    all.push_back({"kubelet_pod_infeasible_resizes_total", {{"reason_detail", error}}});
  }
  all.push_back(
      {"kubelet_pod_deferred_accepted_resizes_total", {{"retry_trigger", "resources_freed"}}});
  for (const char* reason : {"OutOfcpu", "PodFeatureUnsupported", "SMTAlignmentError",
                             "TopologyAffinityError", "UnexpectedAdmissionError"}) {
    all.push_back({"kubelet_admission_rejections_total", {{"reason", reason}}});
  }
  for (const char* name : {"kubelet_container_aligned_compute_resources_count",
                           "kubelet_container_aligned_compute_resources_failure_count"}) {
    all.push_back({name, {{"scope", "container"}, {"boundary", "numa_node"}}});
    all.push_back({name, {{"scope", "container"}, {"boundary", "physical_cpu"}}});
    all.push_back({name, {{"scope", "pod"}, {"boundary", "numa_node"}}});
  }
  all.push_back({"kubelet_container_aligned_compute_resources_count",
                 {{"scope", "container"}, {"boundary", "uncore_cache"}}});
  for (const char* what : {"errors_get", "errors_get_allocatable", "errors_list", "requests_get",
                           "requests_get_allocatable", "requests_list", "requests_total"}) {
    const MetricInfo* info = find_metric(fmt::format("kubelet_pod_resources_endpoint_{}", what));
    all.push_back({info->name.data(), {{"server_api_version", "v1"}}});
  }
  return all;
}

// What a label may say; anything else is "other".
std::string known(std::string_view word, std::span<const std::string_view> words) {
  const bool is_known = std::find(words.begin(), words.end(), word) != words.end();
  return is_known ? std::string(word) : "other";
}

std::string verb_label(std::string_view verb) {
  constexpr std::array<std::string_view, 9> kVerbs{
      "apply", "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  return known(verb, kVerbs);
}

std::string resource_label(std::string_view resource) {
  constexpr std::array<std::string_view, 10> kResources{
      "cpus", "events",   "namespaces",  "nodes",       "nodes/status",
      "pods", "pods/log", "pods/resize", "pods/status", "run"};
  // An empty label is none at all for Prometheus.
  return resource.empty() ? "none" : known(resource, kResources);
}

std::string code_label(int code) {
  constexpr int kFirst = 100;
  constexpr int kLast = 599;
  return code < kFirst || code > kLast ? "other" : fmt::to_string(code);
}

std::string_view name_of(PodResourcesCall call) {
  switch (call) {
    case PodResourcesCall::kList:
      return "list";
    case PodResourcesCall::kGet:
      return "get";
    case PodResourcesCall::kGetAllocatable:
      return "get_allocatable";
  }
  return "";
}

constexpr std::array<std::string_view, 4> kInterruptKinds{"device", "managed", "other", "timer"};

// What came to a CPU, for the label `kind`.
std::string_view interrupt_kind(const CpuCount& count) {
  if (count.kind) return *count.kind == ForeignKind::kManagedInterrupt ? "managed" : "device";
  return count.label == "LOC" ? "timer" : "other";
}

prometheus::MetricFamily described(const char* name, prometheus::MetricType type) {
  return {.name = name, .help = std::string(find_metric(name)->help), .type = type, .metric = {}};
}

// Both are there also without series: no CPU is held.
prometheus::MetricFamily foreign_tasks_family(const std::map<int, std::size_t>& tasks) {
  auto family = described("corehold_foreign_tasks", prometheus::MetricType::Gauge);
  for (const auto& [cpu, count] : tasks) {
    prometheus::ClientMetric metric;
    metric.label = {{"cpu", fmt::to_string(cpu)}};
    metric.gauge.value = static_cast<double>(count);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

using InterruptCounts = std::map<std::pair<int, std::string_view>, std::uint64_t>;  // by CPU, kind

prometheus::MetricFamily foreign_interrupts_family(const InterruptCounts& counts) {
  auto family = described("corehold_foreign_interrupts_total", prometheus::MetricType::Counter);
  for (const auto& [key, count] : counts) {
    prometheus::ClientMetric metric;
    metric.label = {{"cpu", fmt::to_string(key.first)}, {"kind", std::string(key.second)}};
    metric.counter.value = static_cast<double>(count);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

struct Metrics::Kept {
  prometheus::Registry registry{};
  std::map<std::string, prometheus::Family<prometheus::Counter>*, std::less<>> counters{};
  prometheus::Histogram* admission = nullptr;
  prometheus::Histogram* grant = nullptr;
  prometheus::Histogram* commit = nullptr;
  std::map<int, std::size_t> foreign_tasks{};  // by CPU
  InterruptCounts foreign_interrupts{};
  // What the manager observes, by name.
  std::map<std::string, prometheus::Histogram*, std::less<>> observed{};

  void count(std::string_view name, const Labels& labels, double by = 1) {
    auto found = counters.find(name);
    if (found == counters.end()) found = add_counter(name);
    found->second->Add(labels).Increment(by);
  }

  decltype(counters)::iterator add_counter(std::string_view name) {
    const MetricInfo* info = find_metric(name);
    auto& family = prometheus::BuildCounter()
                       .Name(std::string(name))
                       .Help(info == nullptr ? "Not described." : std::string(info->help))
                       .Register(registry);
    return counters.emplace(name, &family).first;
  }

  prometheus::Histogram* add_histogram(std::string_view name,
                                       const prometheus::Histogram::BucketBoundaries& buckets,
                                       const Labels& labels = {}) {
    return &prometheus::BuildHistogram()
                .Name(std::string(name))
                .Help(std::string(find_metric(name)->help))
                .Register(registry)
                .Add(labels, buckets);
  }
};

Metrics::Metrics() : kept_(std::make_unique<Kept>()) {
  kept_->admission =
      kept_->add_histogram("kubelet_topology_manager_admission_duration_ms", admission_buckets());
  // A resize that fails is tried until it succeeds, so only successes are counted.
  kept_->observed[std::string(kResizeDuration)] =
      kept_->add_histogram(kResizeDuration, resize_buckets(), {{"success", "true"}});
  for (const std::string_view name : {kNotify, kOvershoot}) {
    kept_->observed[std::string(name)] = kept_->add_histogram(name, reaction_buckets());
  }
  kept_->grant = kept_->add_histogram("corehold_exclusive_grant_seconds", grant_buckets());
  kept_->commit = kept_->add_histogram(kCommit, reaction_buckets());
  for (const Series& series : first_series()) kept_->count(series.name, series.labels, 0);
}

Metrics::~Metrics() = default;

void Metrics::counted(const CountMetric& metric) {
  if (!metric.observed) return kept_->count(metric.name, metric.labels, metric.more);
  const auto found = kept_->observed.find(metric.name);
  CHECK(found != kept_->observed.end());
  found->second->Observe(*metric.observed);
}

void Metrics::stepped(std::span<const Command> commands, const Outcome& outcome, const Now& now,
                      std::chrono::nanoseconds took) {
  const auto admissions =
      std::count_if(outcome.effects.begin(), outcome.effects.end(), [](const Effect& effect) {
        const auto* metric = std::get_if<CountMetric>(&effect);
        return metric != nullptr && metric->name == kAdmissions;
      });
  const std::chrono::duration<double, std::milli> whole = took;
  for (auto left = admissions; left > 0; --left) {
    kept_->admission->Observe(whole.count() / static_cast<double>(admissions));
  }
  for (const Command& command : commands) {
    if (const auto* began = std::get_if<ContainerStarted>(&command)) started(*began, outcome, now);
  }
}

void Metrics::started(const ContainerStarted& command, const Outcome& outcome, const Now& now) {
  if (command.attempt != 0) return;
  const auto pod = outcome.node.running.pods.find(command.container.pod);
  if (pod == outcome.node.running.pods.end()) return;
  const auto& placed = outcome.node.placing.pods.at(command.container.pod).containers;
  const auto container = placed.find(command.container.container);
  if (container == placed.end() || container->second.exclusive == 0) return;
  const std::chrono::duration<double> waited = now.wall - pod->second.record.created_at;
  // The clock on the wall may have been put back.
  kept_->grant->Observe(std::max(waited.count(), 0.0));
}

void Metrics::api_answered(std::string_view verb, std::string_view resource, int code) {
  kept_->count(kApiRequests, {{"code", code_label(code)},
                              {"resource", resource_label(resource)},
                              {"verb", verb_label(verb)}});
}

void Metrics::pod_resources_asked(PodResourcesCall call, CallResult result) {
  const Labels version{{"server_api_version", "v1"}};
  kept_->count("kubelet_pod_resources_endpoint_requests_total", version);
  kept_->count(fmt::format("kubelet_pod_resources_endpoint_requests_{}", name_of(call)), version);
  if (result == CallResult::kAnswered) return;
  kept_->count(fmt::format("kubelet_pod_resources_endpoint_errors_{}", name_of(call)), version);
}

void Metrics::watched(const QuietReport& report) {
  kept_->foreign_tasks.clear();
  for (const CpuQuiet& cpu : report.cpus) {
    const int number = cpu.cpu.value;
    const auto tasks = std::count_if(cpu.ran.begin(), cpu.ran.end(), [&](std::size_t index) {
      return report.tasks[index].kind == ForeignKind::kTask;
    });
    kept_->foreign_tasks[number] = static_cast<std::size_t>(tasks);
    for (const std::string_view kind : kInterruptKinds) {
      kept_->foreign_interrupts.try_emplace({number, kind}, 0);
    }
    for (const CpuCount& count : cpu.interrupts) {
      kept_->foreign_interrupts[{number, interrupt_kind(count)}] += count.count;
    }
  }
}

void Metrics::committed(const CommitFigures& figures) {
  kept_->commit->Observe(std::chrono::duration<double>(figures.took).count());
  const auto count = [this](const char* part, bool failed) {
    kept_->count(kCommits, {{"part", part}});
    if (failed) kept_->count(kCommitFailures, {{"part", part}});
  };
  if (figures.records > 0) {
    count(figures.are_records_synced ? "records" : "lazy_records", figures.records_failed);
  }
  if (figures.has_checkpoint) count("checkpoint", figures.checkpoint_failed);
  kept_->count(kRecords, {}, static_cast<double>(figures.records));
}

std::string Metrics::text(const NodeState& node, const NodeFacts& facts) const {
  std::vector<prometheus::MetricFamily> families = kept_->registry.Collect();
  std::vector<prometheus::MetricFamily> gauges = metric_gauges(node, facts);
  std::move(gauges.begin(), gauges.end(), std::back_inserter(families));
  families.push_back(foreign_tasks_family(kept_->foreign_tasks));
  families.push_back(foreign_interrupts_family(kept_->foreign_interrupts));
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (prometheus::MetricFamily& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace corehold
