// SPDX-License-Identifier: Apache-2.0
//
// Every metric of the agent: name, type, labels, meaning. Names and meanings are the
// kubelet's where it has the metric.
#pragma once

#include <span>
#include <string_view>

namespace corehold {

enum class MetricKind { kCounter, kGauge, kHistogram };

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view labels;  // "scope, boundary"; "" for none
  std::string_view help;    // for HELP and the documents
};

// Sorted by name.
std::span<const MetricInfo> metric_table();

// Null when there is none of that name.
const MetricInfo* find_metric(std::string_view name);

}  // namespace corehold
