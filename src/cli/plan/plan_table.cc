// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/draw/topology_render.h"
#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/set_rows.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

// More would bury the rest of the answer.
constexpr std::size_t kHoldersShown = 8;

std::size_t count_refused(const PlanReport& report) {
  return static_cast<std::size_t>(
      std::count_if(report.pods.begin(), report.pods.end(),
                    [](const PlannedPod& pod) { return pod.refusal.has_value(); }));
}

std::string pods_line(const PlanReport& report) {
  const std::size_t refused = count_refused(report);
  const std::size_t all = report.pods.size();
  if (refused == 0) return fmt::format("{}, all admitted", counted(all, "pod"));
  if (refused == all) return fmt::format("{}, all refused", counted(all, "pod"));
  return fmt::format("{}, {} admitted, {} refused", counted(all, "pod"), all - refused, refused);
}

std::vector<Row> plan_set_rows(const PlanReport& report) {
  CpuSet exclusive;
  const std::vector<Owner> all = owners(report);
  for (const Owner& owner : all) exclusive |= owner.container->granted;
  return set_rows({{"reserved", report.reserved},
                   {"shared", report.shared, fmt::format(", {} free to give", report.free_count)},
                   {"exclusive", exclusive,
                    all.empty() ? "" : fmt::format(" in {}", counted(all.size(), "container"))}});
}

// Pods that share CPUs are not refused here for what they request; schedulers and kubelets count.
std::string overbooked(const PlanReport& report) {
  return fmt::format(
      "admitted pods request {} CPUs of {} allocatable; a kubelet would refuse some of them "
      "(OutOfcpu)",
      Quantity::of_milli(report.requested_milli).str(),
      Quantity::of_milli(report.allocatable_milli).str());
}

std::string header(const PlanPage& page) {
  const PlanReport& report = page.report;
  std::vector<Row> rows{{"machine", summarize(page.topology)},
                        {"policy", policy_line(report)},
                        {"topology", topology_line(report.topology_options)}};
  for (Row& row : plan_set_rows(report)) rows.push_back(std::move(row));
  rows.push_back({"pods", pods_line(report)});
  if (!report.resizes.empty()) rows.push_back({"resizes", resizes_line(report)});
  if (report.requested_milli > report.allocatable_milli) {
    rows.push_back({"note", overbooked(report)});
  }
  for (const std::string& note : page.notes) rows.push_back({"note", on_one_line(note)});
  return align(rows, 2);
}

// Which of the columns that most plans do not need are there.
struct Columns {
  bool promised = false;
  bool memory = false;
  bool devices = false;
};

Columns columns_of(const PlanReport& report) {
  Columns columns{.promised = !report.resizes.empty()};
  for (const PlannedPod& pod : report.pods) {
    if (pod.refusal) continue;
    for (const PlannedContainer& container : pod.containers) {
      columns.memory = columns.memory || !container.memory.empty();
      columns.devices = columns.devices || !container.devices.empty();
    }
  }
  return columns;
}

Row row_of(const PlanPage& page, const PlannedPod& pod, const PlannedContainer& container,
           const Columns& columns) {
  const bool shares = container.granted.empty();
  Row row{std::to_string(pod.index),
          on_one_line(pod.name),
          container_name(container),
          std::string(name_of(pod.qos)),
          container.cpu_request.empty() ? "-" : on_one_line(container.cpu_request),
          shares ? "shared" : container.granted.str()};
  if (columns.promised) row.push_back(shown(container.promised));
  row.push_back(shown(container.nodes));
  if (columns.memory) row.push_back(memory_text(container));
  if (columns.devices) row.push_back(devices_text(container));
  row.push_back(shares ? "-" : summarize(page.topology, container.fit));
  return row;
}

std::string admitted(const PlanPage& page) {
  const Columns columns = columns_of(page.report);
  Row head{"#", "POD", "CONTAINER", "QOS", "CPUS", "ASSIGNED"};
  if (columns.promised) head.emplace_back("PROMISED");
  head.emplace_back("NUMA");
  if (columns.memory) head.emplace_back("MEMORY");
  if (columns.devices) head.emplace_back("DEVICES");
  head.emplace_back("ALIGNED");
  std::vector<Row> rows{head};
  for (const PlannedPod& pod : page.report.pods) {
    if (pod.refusal) continue;
    for (const PlannedContainer& container : pod.containers) {
      rows.push_back(row_of(page, pod, container, columns));
    }
  }
  return rows.size() == 1 ? "" : "\n" + align(rows, head.size());
}

// ", container main"; nothing where the pod was refused as a whole.
std::string refused_container(const PlannedPod& pod) {
  for (const PlannedContainer& container : pod.containers) {
    if (container.name == pod.refusal->container) return ", container " + container_name(container);
  }
  return "";
}

}  // namespace

std::string refusal_text(const PlannedPod& pod) {
  const PlannedRefusal& refusal = *pod.refusal;
  std::vector<Row> rows{
      {"refused", fmt::format("#{} {}{}: {}", pod.index, on_one_line(pod.name),
                              refused_container(pod), on_one_line(refusal.reason))},
      {"text", on_one_line(refusal.text)}};
  if (!refusal.rule.empty()) rows.push_back({"rule", on_one_line(refusal.rule)});
  if (!refusal.missing.empty()) rows.push_back({"missing", on_one_line(refusal.missing)});
  std::vector<Row> holders;
  std::size_t left = 0;
  for (const Holder& holder : refusal.holders) {
    if (holders.size() == kHoldersShown) {
      ++left;
      continue;
    }
    holders.push_back({holder.pod == pod.name ? "this pod" : on_one_line(holder.pod),
                       on_one_line(holder.container),
                       holder.resource == kCpu
                           ? holder.what
                           : on_one_line(fmt::format("{} {}", holder.resource, holder.what))});
  }
  const char* label = "held by";
  for (const std::string& line : lines_of(align(holders, 3))) {
    rows.push_back({label, line});
    label = "";
  }
  if (left > 0) rows.push_back({"", fmt::format("and {} more", counted(left, "container"))});
  rows.push_back({"alone", refusal.fits_empty ? "an empty node would admit it"
                                              : "an empty node would refuse it too"});
  return align(rows, 2);
}

std::string render_plan_table(const PlanPage& page) {
  std::string text = header(page) + admitted(page);
  for (const PlannedPod& pod : page.report.pods) {
    if (pod.refusal) text += "\n" + refusal_text(pod);
  }
  for (const PlannedResize& resize : page.report.resizes) {
    text += "\n" + resize_text(page, resize);
  }
  return text;
}

}  // namespace corehold
