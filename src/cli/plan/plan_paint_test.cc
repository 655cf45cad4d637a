// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <set>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <gtest/gtest.h>

#include "cli/draw/plan_palette.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/plan_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using boost::property_tree::ptree;

// Of "#rrggbb", as the accessibility guidelines of the W3C define it.
double luminance(const std::string& color) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(color.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one);
  const double b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

struct Text {
  int x;
  int y;
  std::size_t length;
};

// All texts of the legend.
void collect_legend(const ptree& tree, std::vector<Text>& found) {
  for (const auto& [name, child] : tree) {
    if (name == "text" && child.get("<xmlattr>.class", "") == "ch-legend") {
      const std::string text = child.data() + "  " + child.get("tspan", "");
      found.push_back({.x = child.get<int>("<xmlattr>.x"),
                       .y = child.get<int>("<xmlattr>.y"),
                       .length = text.size()});
    }
    collect_legend(child, found);
  }
}

TEST(PlanPalette, NumbersStandOut) {
  for (std::size_t i = 0; i < kOwnerFills; ++i) {
    const Fill fill = owner_fill(i);
    EXPECT_GE(contrast(fill.color, fill.ink), 4.5) << i << " " << fill.color;
    EXPECT_GE(contrast(fill.pale, fill.ink), 4.5) << i << " " << fill.pale;
    EXPECT_NE(fill.pale, fill.color) << i;
  }
  const Topology machine = corehold::machine("1s4c2t");
  const PlanReport report = report_of(machine, {{"a/b", "c", "2-5"}});
  for (const Fill& fill : plan_paint({machine, report}).fills) {
    EXPECT_GE(contrast(fill.color, fill.ink), 4.5) << fill.label;
  }
}

TEST(PlanPalette, OwnersLookDifferent) {
  std::set<std::pair<std::string, Fill::Frame>> seen;
  for (std::size_t i = 0; i < kOwnerFills; ++i) {
    EXPECT_TRUE(seen.insert({owner_fill(i).color, owner_fill(i).frame}).second) << i;
  }
  EXPECT_EQ(owner_fill(kOwnerFills).color, owner_fill(0).color);
}

TEST(PlanPaint, ColoursByOwner) {
  const Topology machine = corehold::machine("1s4c2t");
  const PlanReport report =
      report_of(machine, {{"a/b", "main", "2-5"}, {"a/b", "log", ""}, {"c/d", "main", "6"}});
  const Paint paint = plan_paint({machine, report});
  ASSERT_EQ(paint.fills.size(), 4U);
  EXPECT_EQ(paint.fills[2].label, "a/b main");
  EXPECT_EQ(paint.fills[2].detail, "2-5");
  EXPECT_EQ(paint.cpus.at(CpuId(0)).fill, 1U);
  EXPECT_EQ(paint.cpus.at(CpuId(5)).fill, 2U);
  EXPECT_EQ(paint.cpus.at(CpuId(6)).fill, 3U);
  EXPECT_EQ(paint.cpus.at(CpuId(6)).note, "c/d main");
  EXPECT_EQ(paint.cpus.at(CpuId(7)).fill, 0U);
  EXPECT_EQ(paint.title, "2 pods: 2 admitted, 0 refused");
  EXPECT_EQ(paint.subtitles, (std::vector<std::string>{"1 socket, 1 NUMA node, 4 cores, 8 CPUs",
                                                       "policy static", "topology manager none"}));
}

TEST(PlanPaint, MarksWhatHasGrownBeyondWhatWasPromised) {
  const Topology machine = corehold::machine("1s4c2t");
  PlanReport report = report_of(machine, {{"a/b", "main", "2-5"}});
  EXPECT_EQ(render_topology_svg(machine, plan_paint({machine, report})).find("grown"),
            std::string::npos)
      << "no legend for what is not there";
  report.pods[0].containers[0].promised = cpus("2-3");
  report.resizes = {
      {.pod = "a/b",
       .containers = {{.name = "main", .before = cpus("2-3"), .after = cpus("2-5")}}}};
  const Paint paint = plan_paint({machine, report});
  EXPECT_EQ(paint.cpus.at(CpuId(3)).mark, CpuPaint::Mark::kNone);
  EXPECT_EQ(paint.cpus.at(CpuId(4)).mark, CpuPaint::Mark::kGrown);
  EXPECT_EQ(paint.cpus.at(CpuId(4)).note, "a/b main, grown");
  EXPECT_EQ(paint.fills[2].detail, "2-5; promised 2-3");
  EXPECT_EQ(paint.remarks, (std::vector<std::string>{"resize of a/b: Accepted, main 2-3 -> 2-5"}));
  const std::string svg = render_topology_svg(machine, paint);
  EXPECT_NE(svg.find(">grown: beyond what was promised<"), std::string::npos);
  EXPECT_NE(svg.find("class=\"ch-mark ch-m2\""), std::string::npos);
  EXPECT_EQ(svg.find(">leaving: "), std::string::npos);
}

TEST(PlanSvg, LegendOfManyOwnersStaysOnThePageWithoutOverlap) {
  for (const char* shape : {"1s31c2t", "2s4n2l8c2t"}) {
    const Topology machine = corehold::machine(shape);
    const PlanReport report = crowded(machine, 30, 2);
    std::istringstream in(render_topology_svg(machine, plan_paint({machine, report})));
    ptree tree;
    read_xml(in, tree);
    const int width = tree.get<int>("svg.<xmlattr>.width");
    const int height = tree.get<int>("svg.<xmlattr>.height");
    std::vector<Text> legend;
    collect_legend(tree, legend);
    ASSERT_GE(legend.size(), 32U);
    for (const Text& one : legend) {
      EXPECT_LE(one.x + static_cast<int>(one.length) * 7, width);
      EXPECT_LE(one.y, height);
      for (const Text& other : legend) {
        if (&one == &other || one.y != other.y || other.x < one.x) continue;
        EXPECT_GE(other.x, one.x + static_cast<int>(one.length) * 7);
      }
    }
  }
}

TEST(PlanSvg, CutsLongNamesInTheMiddleAndNeverLosesCpus) {
  const Topology machine = corehold::machine("1s4c2t");
  const std::string name = "space/" + std::string(200, 'n') + "-7";
  const PlanReport report = report_of(machine, {{name, "main", "2-3,5"}});
  const std::string svg = render_topology_svg(machine, plan_paint({machine, report}));
  EXPECT_NE(svg.find("n\u2026n"), std::string::npos);
  EXPECT_NE(svg.find("n-7 main<tspan class=\"ch-quiet\" dx=\"8\">2-3,5</tspan>"),
            std::string::npos);
  EXPECT_NE(svg.find("<title>" + name + " main: 2-3,5</title>"), std::string::npos);
}

TEST(PlanSvg, CutsBetweenCharacters) {
  const Topology machine = corehold::machine("1s4c2t");
  for (const char* pad : {"", "x", "xx"}) {
    std::string name = pad;
    for (int i = 0; i < 60; ++i) name += "\u20ac";
    const PlanReport report = report_of(machine, {{name, "main", "2-5"}});
    const std::string svg = render_topology_svg(machine, plan_paint({machine, report}));
    EXPECT_NE(svg.find("\u20ac\u2026\u20ac"), std::string::npos) << pad;
  }
}

TEST(PlanPaint, TellsRefusalsAndNotesBelowThePicture) {
  const Topology machine = corehold::machine("1s31c2t");
  PlanReport report = crowded(machine, 8, 2);
  for (PlannedPod& pod : report.pods) pod.refusal = PlannedRefusal{.reason = "OutOfcpu"};
  const std::string note = "no --config: " + std::string(100, 'x') + " and more words";
  const Paint paint = plan_paint({machine, report, {note}});
  ASSERT_EQ(paint.remarks.size(), 8U);
  EXPECT_EQ(paint.remarks[0], "refused: #1 team-0/worker-0, OutOfcpu");
  EXPECT_EQ(paint.remarks[6], "and 2 more refused");
  EXPECT_EQ(paint.remarks[7], "note: " + note);
  const std::string svg = render_topology_svg(machine, paint);
  EXPECT_NE(svg.find(">and more words</text>"), std::string::npos) << "broken into lines";
}

}  // namespace
}  // namespace corehold
