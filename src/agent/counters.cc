// SPDX-License-Identifier: Apache-2.0
#include "agent/counters.h"

#include <vector>

#include <fmt/format.h>

#include "state/go_json_writer.h"

namespace corehold {

std::string counter_name(const CountMetric& metric) {
  if (metric.labels.empty()) return metric.name;
  std::vector<std::string> labels;
  labels.reserve(metric.labels.size());
  for (const auto& [name, value] : metric.labels) {
    labels.push_back(fmt::format("{}={}", name, go_quoted(value)));
  }
  return fmt::format("{}{{{}}}", metric.name, fmt::join(labels, ","));
}

}  // namespace corehold
