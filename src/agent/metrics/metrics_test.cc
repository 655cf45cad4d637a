// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics.h"

#include <array>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/metrics/metric_table.h"
#include "serve/process_figures.h"
#include "sys/file/file.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// Two NUMA nodes of 8 CPUs; 0-1 reserved.
class MetricsTest : public testing::Test {
 protected:
  MetricsTest() : topology_(machine("2s4c2t")), setup_(make()) {
    node_.placing.bookings = setup_.empty;
  }

  NodeSetup make() const {
    auto setup = NodeSetup::make(topology_, planning_defaults(topology_));
    EXPECT_TRUE(setup) << setup.error().message;
    return *std::move(setup);
  }
  std::string text() const { return metrics_.text(node_, facts_); }

  // The pod u1 with a container that has started, entitled to so many CPUs of its own.
  Outcome started(int exclusive, WallTime created_at) const {
    Outcome outcome{.node = node_};
    RunPod& pod = outcome.node.running.pods["u1"];
    pod.record.created_at = created_at;
    pod.containers["main"] = {.stage = Stage::kRunning};
    outcome.node.placing.pods["u1"].containers["main"].exclusive = exclusive;
    return outcome;
  }

  void stepped(const Command& command, const Outcome& outcome, const Now& now,
               std::chrono::nanoseconds took) {
    metrics_.stepped(std::span(&command, 1), outcome, now, took);
  }

  Topology topology_;
  NodeSetup setup_;
  NodeFacts facts_{.setup = setup_, .name = "host", .version = "1.2.3"};
  NodeState node_;
  Metrics metrics_;
};

const ContainerStarted kStarted{.container = {.pod = "u1", .container = "main"}, .attempt = 0};

TEST_F(MetricsTest, EveryMetricOfTheTableIsThereFromTheStart) {
  std::istringstream lines(text());
  std::set<std::string> described;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kHelp = "# HELP ";
    if (line.starts_with(kHelp)) described.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  std::set<std::string> expected;
  for (const MetricInfo& info : metric_table()) expected.emplace(info.name);
  EXPECT_EQ(described, expected);
}

// A row of the table in docs/metrics.md.
std::string row_of(const MetricInfo& info) {
  constexpr std::array<std::string_view, 3> kKinds{"counter", "gauge", "histogram"};
  std::string labels;
  std::istringstream words{std::string(info.labels)};
  for (std::string word; words >> word;) {
    if (word.ends_with(',')) word.pop_back();
    labels += fmt::format("{}`{}`", labels.empty() ? "" : ", ", word);
  }
  return fmt::format("| `{}` | {} | {} | {} |\n", info.name,
                     kKinds.at(static_cast<std::size_t>(info.kind)), labels.empty() ? "-" : labels,
                     info.help);
}

TEST(MetricTable, IsTheOneInTheDocuments) {
  const auto page = read_file(COREHOLD_SOURCE_DIR "/docs/metrics.md", std::size_t{1} << 20U);
  ASSERT_TRUE(page) << page.error().message;
  std::string rows = "|---|---|---|---|\n";
  for (const MetricInfo& info : metric_table()) rows += row_of(info);
  EXPECT_THAT(*page, HasSubstr(rows + "\n"));
}

TEST_F(MetricsTest, CountsWhatTheManagerCounts) {
  metrics_.counted({"corehold_drift_repairs_total", {}});
  metrics_.counted({"corehold_drift_repairs_total", {}});
  metrics_.counted({"kubelet_admission_rejections_total", {{"reason", "OutOfcpu"}}});
  EXPECT_THAT(text(), HasSubstr("\ncorehold_drift_repairs_total 2\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_admission_rejections_total{reason=\"OutOfcpu\"} 1\n"));
}

TEST_F(MetricsTest, CountsSeveralAtOnce) {
  EXPECT_THAT(text(), HasSubstr("\ncorehold_pins_restored_total 0\n"));
  metrics_.counted({.name = "corehold_pins_restored_total", .more = 3});
  metrics_.counted({.name = "corehold_pins_restored_total", .more = 2});
  EXPECT_THAT(text(), HasSubstr("\ncorehold_pins_restored_total 5\n"));
}

TEST_F(MetricsTest, ValuesOfLabelsAreEscaped) {
  metrics_.counted({"kubelet_admission_rejections_total", {{"reason", "a\"b\\c\nd"}}});
  EXPECT_THAT(text(), HasSubstr(R"({reason="a\"b\\c\nd"} 1)"));
}

TEST_F(MetricsTest, ACounterWithoutADescriptionIsCounted) {
  metrics_.counted({"corehold_new_total", {}});
  EXPECT_THAT(text(), HasSubstr("# TYPE corehold_new_total counter\ncorehold_new_total 1\n"));
}

TEST_F(MetricsTest, GaugesFollowTheNodeAndReturnToZero) {
  apply(node_.placing.bookings.cpus, SetShared{node_.placing.bookings.cpus.shared - cpus("2-3,8")});
  apply(node_.placing.bookings.cpus, Assign{.container = {"u1", "main"}, .cpus = cpus("2-3,8")});
  node_.placing.offline = cpus("15");
  EXPECT_THAT(text(), HasSubstr("\nkubelet_cpu_manager_shared_pool_size_millicores 10000\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_cpu_manager_exclusive_cpu_allocation_count 3\n"));
  EXPECT_THAT(text(), HasSubstr("allocation_per_numa{numa_node=\"0\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr("allocation_per_numa{numa_node=\"1\"} 1\n"));
  node_.placing.bookings = setup_.empty;
  node_.placing.offline = {};
  EXPECT_THAT(text(), HasSubstr("\nkubelet_cpu_manager_shared_pool_size_millicores 14000\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_cpu_manager_exclusive_cpu_allocation_count 0\n"));
  EXPECT_THAT(text(), HasSubstr("allocation_per_numa{numa_node=\"0\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("allocation_per_numa{numa_node=\"1\"} 0\n"));
}

TEST_F(MetricsTest, PodsAreCountedByPhase) {
  node_.running.pods["u1"].record.failed = true;
  RunPod& waiting = node_.running.pods["u2"];
  waiting.record.pod.containers = {{.name = "main"}};
  waiting.record.containers["main"] = {};
  waiting.containers["main"] = {};
  EXPECT_THAT(text(), HasSubstr("corehold_pods{phase=\"Failed\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("corehold_pods{phase=\"Pending\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("corehold_pods{phase=\"Running\"} 0\n"));
}

TEST_F(MetricsTest, ResizesAreCountedByWhereTheyAre) {
  const auto wishes = [&](const char* uid, std::optional<ResizeVerdict> verdict) {
    node_.placing.pods[uid].resize.wish.emplace();
    node_.placing.pods[uid].resize.verdict = verdict;
  };
  wishes("u1", ResizeVerdict::kDeferred);
  wishes("u2", ResizeVerdict::kInfeasible);
  wishes("u3", std::nullopt);
  node_.placing.pods["u1"].containers["main"].actual.emplace();
  node_.placing.pods["u4"].containers["main"].actual.emplace();
  // A resize that was accepted and cannot go on is in progress.
  node_.placing.pods["u4"].resize.verdict = ResizeVerdict::kDeferred;
  EXPECT_THAT(text(), HasSubstr("kubelet_pod_pending_resizes{reason=\"deferred\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("kubelet_pod_pending_resizes{reason=\"infeasible\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_pod_in_progress_resizes 2\n"));
  node_.placing.pods.clear();
  EXPECT_THAT(text(), HasSubstr("kubelet_pod_pending_resizes{reason=\"deferred\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_pod_in_progress_resizes 0\n"));
}

TEST_F(MetricsTest, TheDurationOfAResizeIsObserved) {
  metrics_.counted({.name = "kubelet_pod_resize_duration_milliseconds", .observed = 12});
  EXPECT_THAT(text(), HasSubstr("duration_milliseconds_sum{success=\"true\"} 12\n"));
  EXPECT_THAT(text(), HasSubstr("duration_milliseconds_count{success=\"true\"} 1\n"));
}

TEST_F(MetricsTest, HowPromptDelaysBeginAndEndIsObserved) {
  metrics_.counted({.name = "corehold_scale_delay_notify_seconds", .observed = 0.0004});
  metrics_.counted({.name = "corehold_scale_delay_overshoot_seconds", .observed = 0.002});
  EXPECT_THAT(text(), HasSubstr("corehold_scale_delay_notify_seconds_bucket{le=\"0.00025\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("corehold_scale_delay_notify_seconds_bucket{le=\"0.0005\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("corehold_scale_delay_overshoot_seconds_sum 0.002\n"));
  EXPECT_THAT(text(), HasSubstr("\ncorehold_told_after_taken_total 0\n"));
}

TEST_F(MetricsTest, DelaysUnderWayAreSeenInTheState) {
  node_.placing.bookings.cpus.pods.set(
      "u1", "main", {.assigned = cpus("2-5"), .promised = cpus("2"), .pending = cpus("2-3")});
  EXPECT_THAT(text(), HasSubstr("\ncorehold_scale_delays_pending 1\n"));
}

TEST_F(MetricsTest, AStepThatAdmitsPodsIsTimedForEachOfThem) {
  Outcome outcome;
  outcome.effects = {CountMetric{"kubelet_topology_manager_admission_requests_total", {}},
                     CountMetric{"kubelet_topology_manager_admission_requests_total", {}}};
  stepped(PodSaved{}, outcome, {}, 1ms);
  stepped(PodSaved{}, {}, {}, 1h);
  EXPECT_THAT(text(), HasSubstr("\nkubelet_topology_manager_admission_duration_ms_count 2\n"));
  EXPECT_THAT(text(), HasSubstr("\nkubelet_topology_manager_admission_duration_ms_sum 1\n"));
  EXPECT_THAT(text(), HasSubstr("duration_ms_bucket{le=\"0.4\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("duration_ms_bucket{le=\"0.8\"} 2\n"));
}

TEST_F(MetricsTest, TheFirstStartOnExclusiveCpusEndsTheWaitForThem) {
  stepped(kStarted, started(2, 1000ms), {.wall = 1020ms}, 0ns);
  EXPECT_THAT(text(), HasSubstr("\ncorehold_exclusive_grant_seconds_count 1\n"));
  EXPECT_THAT(text(), HasSubstr("\ncorehold_exclusive_grant_seconds_sum 0.02\n"));
}

TEST_F(MetricsTest, AClockThatWasPutBackGivesNoNegativeWait) {
  stepped(kStarted, started(2, 5000ms), {.wall = 1000ms}, 0ns);
  EXPECT_THAT(text(), HasSubstr("\ncorehold_exclusive_grant_seconds_sum 0\n"));
}

TEST_F(MetricsTest, OtherStartsAreNoGrants) {
  stepped(kStarted, started(0, 1000ms), {.wall = 1020ms}, 0ns);
  ContainerStarted again = kStarted;
  again.attempt = 1;
  stepped(again, started(2, 1000ms), {.wall = 1020ms}, 0ns);
  stepped(kStarted, {}, {.wall = 1020ms}, 0ns);
  EXPECT_THAT(text(), HasSubstr("\ncorehold_exclusive_grant_seconds_count 0\n"));
}

TEST_F(MetricsTest, AnswersOfTheApiAreCountedByWhatIsKnown) {
  metrics_.api_answered("get", "pods/log", 200);
  metrics_.api_answered("get", "", 404);
  metrics_.api_answered("brew", "coffee\n", 99'999);
  EXPECT_THAT(text(), HasSubstr("{code=\"200\",resource=\"pods/log\",verb=\"get\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("{code=\"404\",resource=\"none\",verb=\"get\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("{code=\"other\",resource=\"other\",verb=\"other\"} 1\n"));
  EXPECT_THAT(text(), Not(HasSubstr("coffee")));
}

TEST_F(MetricsTest, WhatOthersDoOnHeldCpusIsCounted) {
  QuietReport report;
  report.tasks = {{.task = {.tid = 7}, .kind = ForeignKind::kTask},
                  {.task = {.tid = 8}, .kind = ForeignKind::kKernelThread}};
  report.cpus = {
      {.cpu = CpuId(3),
       .ran = {0, 1},
       .interrupts = {{.label = "24", .kind = ForeignKind::kInterrupt, .count = 2},
                      {.label = "25", .kind = ForeignKind::kManagedInterrupt, .count = 3},
                      {.label = "LOC", .count = 5},
                      {.label = "RES", .count = 1},
                      {.label = "CAL", .count = 1}}}};
  metrics_.watched(report);
  EXPECT_THAT(text(), HasSubstr("\ncorehold_foreign_tasks{cpu=\"3\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"device\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"managed\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"other\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"timer\"} 5\n"));
  report.cpus[0].ran.clear();
  metrics_.watched(report);
  EXPECT_THAT(text(), HasSubstr("\ncorehold_foreign_tasks{cpu=\"3\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"device\"} 4\n"));
  metrics_.watched({});
  EXPECT_THAT(text(), Not(HasSubstr("corehold_foreign_tasks{")));
  EXPECT_THAT(text(), HasSubstr("interrupts_total{cpu=\"3\",kind=\"device\"} 4\n"));
}

TEST_F(MetricsTest, CallsOfPodResourcesAreCountedAsInTheKubelet) {
  metrics_.pod_resources_asked(PodResourcesCall::kList, CallResult::kAnswered);
  metrics_.pod_resources_asked(PodResourcesCall::kGet, CallResult::kFailed);
  const std::string all = text();
  EXPECT_THAT(all, HasSubstr("endpoint_requests_total{server_api_version=\"v1\"} 2\n"));
  EXPECT_THAT(all, HasSubstr("endpoint_requests_list{server_api_version=\"v1\"} 1\n"));
  EXPECT_THAT(all, HasSubstr("endpoint_errors_get{server_api_version=\"v1\"} 1\n"));
  EXPECT_THAT(all, HasSubstr("endpoint_errors_list{server_api_version=\"v1\"} 0\n"));
}

TEST(ProcessFiguresTest, TheNameInStatMayHoldAnything) {
  const auto stat = parse_process_stat(
      "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 12 30 0 0 20 0 1 0 555 4096000 321 18446");
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(stat->cpu_ticks, 42);
  EXPECT_EQ(stat->start_ticks, 555);
  EXPECT_EQ(stat->virtual_bytes, 4'096'000);
  EXPECT_EQ(stat->resident_pages, 321);
}

TEST(ProcessFiguresTest, AStatThatIsCutShortIsRefused) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("7 (a) S 1 7"));
}

TEST(ProcessFiguresTest, ThisProcessHasMemoryDescriptorsAndABeginning) {
  const auto figures = process_figures();
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_GT(figures->resident_bytes, 0);
  EXPECT_GE(figures->open_fds, 3);
  EXPECT_GT(figures->start_time, 1.6e9);
}

}  // namespace
}  // namespace corehold
