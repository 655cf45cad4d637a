// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "cli/draw/plan_palette.h"
#include "cli/draw/topology_render.h"
#include "cli/output.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

constexpr std::size_t kSharedFill = 0;
constexpr std::size_t kReservedFill = 1;
constexpr std::size_t kFirstOwner = 2;

// More would be a page of text below the picture; the table has them all.
constexpr std::size_t kRefusalsShown = 6;

std::string title_of(const PlanReport& report) {
  std::size_t refused = 0;
  for (const PlannedPod& pod : report.pods) refused += pod.refusal ? 1U : 0U;
  return fmt::format("{}: {} admitted, {} refused{}", counted(report.pods.size(), "pod"),
                     report.pods.size() - refused, refused,
                     report.resizes.empty() ? "" : "; " + resizes_line(report));
}

// How each resize would end: "resize of a/b: accepted, main 2-3 -> 2-5", or why it is refused.
std::string resize_remark(const PlannedResize& resize) {
  std::string text =
      fmt::format("resize of {}: {}", on_one_line(resize.pod), name_of(resize.verdict));
  if (resize.refusal) return text + ", " + on_one_line(resize.refusal->message);
  for (const ResizedContainer& container : resize.containers) {
    if (container.before == container.after) continue;
    text += fmt::format(", {} {} -> {}", on_one_line(container.name), container.before.str(),
                        container.after.str());
  }
  return text;
}

std::vector<std::string> remarks_of(const PlanPage& page) {
  std::vector<std::string> remarks;
  std::size_t left = 0;
  for (const PlannedPod& pod : page.report.pods) {
    if (!pod.refusal) continue;
    if (remarks.size() == kRefusalsShown) {
      ++left;
      continue;
    }
    remarks.push_back(fmt::format("refused: #{} {}, {}", pod.index, on_one_line(pod.name),
                                  on_one_line(pod.refusal->reason)));
  }
  if (left > 0) remarks.push_back(fmt::format("and {} more refused", left));
  for (const PlannedResize& resize : page.report.resizes) remarks.push_back(resize_remark(resize));
  for (const std::string& note : page.notes) remarks.push_back("note: " + on_one_line(note));
  return remarks;
}

}  // namespace

Paint plan_paint(const PlanPage& page) {
  const PlanReport& report = page.report;
  Paint paint{.title = title_of(report),
              .fills = {{.label = "shared", .color = "#e6ebf2", .detail = report.shared.str()},
                        {.label = "reserved", .color = "#a9b3c2", .detail = report.reserved.str()}},
              .subtitles = {summarize(page.topology), "policy " + policy_line(report),
                            "topology manager " + topology_line(report.topology_options)},
              .remarks = remarks_of(page)};
  paint_all(paint, page.topology.cpus(), kSharedFill, "shared");
  paint_all(paint, report.reserved, kReservedFill,
            report.reserved.intersects(report.shared) ? "reserved, shared" : "reserved");
  std::size_t index = 0;
  for (const Owner& owner : owners(report)) {
    const std::string label =
        fmt::format("{} {}", on_one_line(owner.pod->name), container_name(*owner.container));
    Fill fill = owner_fill(index);
    fill.label = label;
    fill.detail = owner.container->granted.str();
    const CpuSet grown = owner.container->granted - owner.container->promised;
    if (!grown.empty()) {
      fmt::format_to(std::back_inserter(fill.detail), "; promised {}",
                     owner.container->promised.str());
    }
    paint.fills.push_back(std::move(fill));
    paint_all(paint, owner.container->granted, kFirstOwner + index, label);
    for (const CpuId cpu : grown) {
      paint.cpus[cpu].mark = CpuPaint::Mark::kGrown;
      paint.cpus[cpu].note += ", grown";
    }
    ++index;
  }
  return paint;
}

}  // namespace corehold
