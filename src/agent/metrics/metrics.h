// SPDX-License-Identifier: Apache-2.0
//
// The metrics for Prometheus. Only counters and histograms are kept, from the start of the
// agent on; gauges are computed from the node at each scrape, so that they cannot drift
// from it. metric_table.h names everything there is.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "agent/commit/committer.h"
#include "agent/node/node_facts.h"
#include "isolation/quiet_report.h"
#include "manager/step.h"

namespace corehold {

// The calls of the kubelet's podresources service.
enum class PodResourcesCall { kList, kGet, kGetAllocatable };
enum class CallResult { kAnswered, kFailed };

// Of what text() returns.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // A name that the table lacks is counted all the same, without a description.
  void counted(const CountMetric& metric);

  // After each step of the manager: how long it took, if pods were admitted or refused in
  // it, and how long a container has waited for CPUs of its own, if one has started.
  void stepped(std::span<const Command> commands, const Outcome& outcome, const Now& now,
               std::chrono::nanoseconds took);

  // After each answer of the API. Verbs are those of Kubernetes ("get", "list", "watch", ...),
  // resources its plural names with a subresource behind a slash ("pods/log"); "", for paths
  // that are no resource, counts as "none". What is not known counts as "other", so that
  // clients cannot fill the memory.
  void api_answered(std::string_view verb, std::string_view resource, int code);

  // After each batch that was written to the store.
  void committed(const CommitFigures& figures);

  // After each look at what others did on CPUs that containers hold. A CPU that is not in the
  // report is not held: how many tasks ran there is forgotten, interrupts stay counted.
  void watched(const QuietReport& report);

  void pod_resources_asked(PodResourcesCall call, CallResult result);

  // All of it in Prometheus' text format, families sorted by name.
  std::string text(const NodeState& node, const NodeFacts& facts) const;

 private:
  void started(const ContainerStarted& command, const Outcome& outcome, const Now& now);

  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace corehold
