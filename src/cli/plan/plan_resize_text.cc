// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

std::string name_and_kind(const ResizedContainer& container) {
  return container_name({.name = container.name, .kind = container.kind});
}

// "2 -> 4", "4" where the CPUs stay as many.
std::string change_text(const ResizedContainer& container) {
  const auto written = [](const std::string& cpu) { return cpu.empty() ? "-" : on_one_line(cpu); };
  if (container.cpu_before == container.cpu_after) return written(container.cpu_after);
  return fmt::format("{} -> {}", written(container.cpu_before), written(container.cpu_after));
}

std::string set_or_shared(const CpuSet& cpus) { return cpus.empty() ? "shared" : cpus.str(); }

std::string accepted_text(const PlanPage& page, const PlannedResize& resize) {
  std::vector<Row> rows{
      {"CONTAINER", "CPUS", "BEFORE", "AFTER", "PROMISED", "KEPT", "ADDED", "GIVEN UP", "ALIGNED"}};
  std::string waits;
  for (const ResizedContainer& container : resize.containers) {
    rows.push_back({name_and_kind(container), change_text(container),
                    set_or_shared(container.before), set_or_shared(container.after),
                    shown(container.promised), shown(container.kept()), shown(container.added()),
                    shown(container.given_up()),
                    container.after.empty() ? "-" : summarize(page.topology, container.fit)});
    for (const auto& [name, cpus] : container.waits_for) {
      waits += fmt::format("{} waits until {} has given up {}\n", name_and_kind(container),
                           on_one_line(name), cpus.str());
    }
  }
  return align(rows, rows.front().size()) + waits;
}

std::string refused_text(const PlannedResize& resize) {
  std::vector<Row> rows;
  const char* label = "asked for";
  for (const ResizedContainer& container : resize.containers) {
    rows.push_back({label, fmt::format("{}  {}, has {}", name_and_kind(container),
                                       change_text(container), set_or_shared(container.before))});
    if (!container.promised.empty()) rows.back()[1] += ", promised " + container.promised.str();
    label = "";
  }
  rows.push_back({"because", on_one_line(resize.refusal->message)});
  std::vector<Row> holders;
  for (const Holder& holder : resize.leave) {
    holders.push_back({on_one_line(holder.pod), on_one_line(holder.container), holder.what});
  }
  label = "must leave";
  for (const std::string& line : lines_of(align(holders, 3))) {
    rows.push_back({label, line});
    label = "";
  }
  if (resize.leave.empty()) rows.push_back({"must leave", "nobody: that would not help"});
  return align(rows, 2);
}

}  // namespace

std::string resizes_line(const PlanReport& report) {
  const auto accepted = static_cast<std::size_t>(std::count_if(
      report.resizes.begin(), report.resizes.end(),
      [](const PlannedResize& resize) { return resize.verdict == ResizeVerdict::kAccepted; }));
  const std::size_t all = report.resizes.size();
  if (all == 1) return fmt::format("1 resize, {}", accepted == 1 ? "accepted" : "refused");
  return fmt::format("{}, {} accepted, {} refused", counted(all, "resize"), accepted,
                     all - accepted);
}

std::string resize_text(const PlanPage& page, const PlannedResize& resize) {
  const std::string where =
      resize.refusal && !resize.refusal->container.empty()
          ? fmt::format(", container {}", on_one_line(resize.refusal->container))
          : "";
  return fmt::format("resize of {}{}: {}\n", on_one_line(resize.pod), where,
                     name_of(resize.verdict)) +
         (resize.refusal ? refused_text(resize) : accepted_text(page, resize));
}

}  // namespace corehold
