// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/json/time_text.h"
#include "cli/draw/cpu_grid.h"
#include "cli/draw/plan_palette.h"
#include "cli/draw/topology_render.h"
#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/set_rows.h"
#include "cli/text_table.h"
#include "plan/fit.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

std::string policy_of(const CpuMap& map) {
  std::string line = on_one_line(map.policy);
  for (const std::string& option : map.options) line += ", " + on_one_line(option);
  return line;
}

std::string pod_of(const CpuHolder& holder) {
  return on_one_line(fmt::format("{}/{}", holder.namespace_name, holder.pod));
}

std::vector<CpuHolder> sorted(std::vector<CpuHolder> holders) {
  std::sort(holders.begin(), holders.end(), [](const CpuHolder& a, const CpuHolder& b) {
    return std::tie(a.namespace_name, a.pod, a.container, a.uid) <
           std::tie(b.namespace_name, b.pod, b.container, b.uid);
  });
  return holders;
}

std::string header(const CpuMap& map) {
  std::vector<Row> rows{{"machine", summarize(map.topology)}, {"policy", policy_of(map)}};
  if (!map.settings.isolation.empty()) {
    rows.push_back({"isolation", on_one_line(map.settings.isolation)});
  }
  for (Row& row : set_rows(pool_lines(map))) rows.push_back(std::move(row));
  return align(rows, 2);
}

void mark_all(Paint& paint, const CpuSet& cpus, CpuPaint::Mark mark, const std::string& note) {
  for (const CpuId cpu : cpus) {
    CpuPaint& cell = paint.cpus[cpu];
    cell.mark = mark;
    cell.note += note;
  }
}

// CPUs beyond those promised, and of these the ones that a shrink under way takes.
void mark_holder(Paint& paint, const CpuHolder& holder, const CpuSet& shown_cpus) {
  const CpuSet leaving = holder.leaving() & shown_cpus;
  const CpuSet grown = (holder.grown() & shown_cpus) - leaving;
  mark_all(paint, grown, CpuPaint::Mark::kGrown, ", grown");
  mark_all(paint, leaving, CpuPaint::Mark::kLeaving, ", leaving");
  std::string& detail = paint.fills.back().detail;
  if (!holder.grown().empty()) detail += fmt::format("; promised {}", shown(holder.promised));
  if (!leaving.empty()) detail += fmt::format("; leaving {}", leaving.str());
}

}  // namespace

std::vector<SetLine> pool_lines(const CpuMap& map) {
  std::vector<SetLine> lines{
      {"reserved", map.reserved},
      {"shared", map.shared, fmt::format(", {} free to give", map.free.size())},
      {"exclusive", map.exclusive(),
       map.containers.empty()
           ? ""
           : fmt::format(" in {}", counted(map.containers.size(), "container"))}};
  if (!map.offline.empty()) lines.push_back({"offline", map.offline});
  return lines;
}

std::string age_or_dash(milliseconds since, milliseconds now) {
  return since.count() == 0 ? "-" : age_text(now - since);
}

std::optional<milliseconds> delay_left(const CpuHolder& holder, milliseconds now) {
  if (!holder.pending) return std::nullopt;
  // By the node's own clock, if it says so: that here may be another.
  const milliseconds left = holder.pending_for.value_or(holder.pending_until - now);
  return left.count() > 0 ? std::optional(left) : std::nullopt;
}

std::string left_text(milliseconds left) {
  constexpr milliseconds kTenth{100};
  const auto tenths = std::max<std::int64_t>(0, (left + kTenth - milliseconds{1}) / kTenth);
  if (tenths < 10) return fmt::format("0.{}s", tenths);
  return age_text(std::chrono::ceil<std::chrono::seconds>(left));
}

std::string pending_text(const CpuHolder& holder, milliseconds now) {
  if (!holder.pending) return "-";
  const auto left = delay_left(holder, now);
  return left ? fmt::format("{} in {}", shown(*holder.pending), left_text(*left))
              : shown(*holder.pending);
}

std::string alignment_text(const CpuMap& map, const CpuSet& cpus) {
  CpuSet reserved = map.reserved;
  if (map.has_option("full-pcpus-only")) reserved = map.topology.whole_cores_touching(reserved);
  return summarize(map.topology, fit_of(map.topology, map.topology.cpus() - reserved, cpus));
}

std::string render_cpus_table(const CpuMap& map, milliseconds now, Detail detail) {
  return render_cpus_table(map, map.containers, now, detail);
}

std::string render_cpus_table(const CpuMap& map, const std::vector<CpuHolder>& rows,
                              milliseconds now, Detail detail) {
  std::vector<Row> table{{"POD", "CONTAINER", "ASSIGNED", "PROMISED", "PENDING", "NUMA", "AGE"}};
  const bool wide = detail == Detail::kWide;
  const CpuGrid grid(map);
  if (wide) {
    table.front().insert(table.front().begin(), "KEY");
    table.front().insert(table.front().end(), {"CPUS", "ALIGNED"});
  }
  for (const CpuHolder& holder : sorted(rows)) {
    Row row{pod_of(holder),
            on_one_line(holder.container),
            shown(holder.assigned),
            shown(holder.promised),
            pending_text(holder, now),
            shown(holder.numa),
            age_or_dash(holder.since, now)};
    if (wide) {
      row.insert(row.begin(), std::string(1, grid.key_of(holder)));
      row.push_back(std::to_string(holder.assigned.size()));
      row.push_back(alignment_text(map, holder.assigned));
    }
    table.push_back(std::move(row));
  }
  std::string text = header(map);
  if (wide) text += "\n" + grid.render();
  if (table.size() > 1) text += "\n" + align(table, table.front().size());
  return text;
}

Paint cpus_paint(const CpuMap& map) {
  Paint paint{.title = summarize(map.topology),
              .fills = {{.label = "shared", .color = "#e6ebf2", .detail = map.shared.str()}},
              .subtitles = {"policy " + policy_of(map)}};
  if (!map.node.empty()) paint.subtitles.insert(paint.subtitles.begin(), on_one_line(map.node));
  paint_all(paint, map.topology.cpus(), 0, "shared");
  const auto add = [&paint](Fill fill, const CpuSet& cpus, const std::string& note) {
    fill.detail = cpus.str();
    paint.fills.push_back(std::move(fill));
    paint_all(paint, cpus, paint.fills.size() - 1, note);
  };
  if (!map.reserved.empty()) {
    add({.label = "reserved", .color = "#a9b3c2"}, map.reserved,
        map.reserved.intersects(map.shared) ? "reserved, shared" : "reserved");
  }
  const CpuSet known = map.shared | map.reserved | map.offline | map.exclusive();
  if (const CpuSet others = map.topology.cpus() - known; !others.empty()) {
    add({.label = "of others", .color = "#c7cfdb"}, others, "of others");
  }
  std::size_t index = 0;
  for (const CpuHolder& holder : sorted(map.containers)) {
    Fill fill = owner_fill(index++);
    fill.label = fmt::format("{} {}", pod_of(holder), on_one_line(holder.container));
    const std::string note = fill.label;
    const CpuSet here = holder.assigned & map.topology.cpus();
    add(std::move(fill), here, note);
    mark_holder(paint, holder, here);
  }
  if (!map.offline.empty()) {
    add({.label = "offline", .color = "#4b5563", .ink = "#ffffff"},
        map.offline & map.topology.cpus(), "offline");
  }
  return paint;
}

}  // namespace corehold
