// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/topology_svg.h"

#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cli/draw/svg_layout.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using boost::property_tree::ptree;

ptree parse_svg(const std::string& text) {
  std::istringstream in(text);
  ptree tree;
  read_xml(in, tree);
  return tree.get_child("svg");
}

// Numbers written in CPU cells.
int count_cells(const ptree& tree) {
  int count = 0;
  for (const auto& [name, child] : tree) {
    if (name == "text" && child.get("<xmlattr>.class", "").starts_with("ch-n ")) ++count;
    count += count_cells(child);
  }
  return count;
}

bool inside(const Rect& inner, const Rect& outer) {
  return inner.x >= outer.x && inner.y >= outer.y &&
         inner.x + inner.width <= outer.x + outer.width &&
         inner.y + inner.height <= outer.y + outer.height;
}

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// Whether children lie inside their parents and apart from each other.
bool is_tidy(const Box& box) {
  for (std::size_t i = 0; i < box.children.size(); ++i) {
    if (!inside(box.children[i].at, box.at) || !is_tidy(box.children[i])) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(box.children[i].at, box.children[j].at)) return false;
    }
  }
  return true;
}

int count_boxes(const Box& box, Box::Kind kind) {
  int count = box.kind == kind ? 1 : 0;
  for (const Box& child : box.children) count += count_boxes(child, kind);
  return count;
}

RC_GTEST_PROP(TopologySvg, BoxesNestAndNeverOverlapOnAnyMachine, ()) {
  const auto chance = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const Topology machine = random_machine(chance, 128);
  RC_ASSERT(is_tidy(layout_machine(machine, 10, 20)));
  const std::string svg = render_topology_svg(machine, plain_paint(machine));
  RC_ASSERT(count_cells(parse_svg(svg)) == machine.cpu_count());
  RC_ASSERT(svg == render_topology_svg(machine, plain_paint(machine)));
}

RC_GTEST_PROP(TopologySvg, DrawsNoCacheAroundCpusWithoutOne, ()) {
  const auto chance = [](int low, int high) { return *rc::gen::inRange(low, high + 1); };
  const Topology full = random_machine(chance, 64);
  CpuSet without;
  for (const auto& uncore : full.uncores()) {
    if (chance(0, 1) == 0) without |= uncore.cpus;
  }
  const auto machine = Topology::make({.places = full.places(), .without_l3 = without});
  RC_ASSERT(machine.has_value());
  const Box box = layout_machine(*machine, 0, 0);
  const int caches = static_cast<int>(machine->l3_caches().size());
  RC_ASSERT(is_tidy(box));
  RC_ASSERT(count_boxes(box, Box::Kind::kOneCpu) == machine->cpu_count());
  const int drawn = count_boxes(box, Box::Kind::kUncore);
  RC_ASSERT(drawn >= caches);
  RC_ASSERT((drawn == 0) == (caches == 0));
}

TEST(TopologySvg, StaysInProportion) {
  for (const char* shape :
       {"1s4c2t", "2s4c2t", "2s8n2l8c1t", "2s64c2t", "1s32l4c2t", "2s4n2l8c2t", "8s8n32c2t"}) {
    const Box box = layout_machine(machine(shape), 0, 0);
    EXPECT_LT(box.at.width, 4 * box.at.height) << shape;
    EXPECT_LT(box.at.height, 2 * box.at.width) << shape;
  }
}

TEST(TopologySvg, HoldsTheLargestMachine) {
  const Topology largest = machine("8s8n2l16c2t");
  EXPECT_EQ(count_cells(parse_svg(render_topology_svg(largest, plain_paint(largest)))), 4096);
}

TEST(TopologySvg, DrawsLevelsThatCrossInParts) {
  // L3 0 holds CPUs of both sockets, and socket 0 those of both caches.
  const auto at = [](int cpu, int socket, int uncore) {
    return CpuPlace{CpuId(cpu), CoreId(cpu), SocketId(socket), NodeId(0), UncoreId(uncore)};
  };
  const auto odd = Topology::make({.places = {at(0, 0, 0), at(1, 0, 1), at(2, 1, 0), at(3, 1, 1)}});
  ASSERT_TRUE(odd);
  const std::string svg = render_topology_svg(*odd, plain_paint(*odd));
  EXPECT_NE(svg.find("(part)"), std::string::npos);
  EXPECT_EQ(count_cells(parse_svg(svg)), 4);
}

TEST(TopologySvg, PaintsOwnersAndEscapesTheirNames) {
  const Topology two = machine("1s2c1t");
  Paint paint{.title = "a < b & \"c\"", .fills = {{"shared", "#dddddd"}, {"db/<pg>&1", "#ff8800"}}};
  paint.cpus[CpuId(1)] = {.fill = 1, .note = "until 5 > 4 \x01"};
  const std::string svg = render_topology_svg(two, paint);
  const ptree tree = parse_svg(svg);
  EXPECT_EQ(tree.get<std::string>("title"), "a < b & \"c\"");
  EXPECT_NE(svg.find("db/&lt;pg&gt;&amp;1"), std::string::npos);
  EXPECT_NE(svg.find(".ch-f1{fill:#ff8800}"), std::string::npos);
  EXPECT_NE(svg.find("until 5 &gt; 4 ?"), std::string::npos);
}

TEST(TopologySvg, MarksIsolatedCpus) {
  TopologyParts parts{.places = machine("1s4c1t").places(), .isolated = cpus("2-3")};
  const auto made = Topology::make(std::move(parts));
  const std::string svg = render_topology_svg(*made, plain_paint(*made));
  EXPECT_NE(svg.find("CPU 3: core 3, L3 0, NUMA 0, socket 0, isolated"), std::string::npos);
  EXPECT_NE(svg.find("isolated CPU"), std::string::npos);
}

}  // namespace
}  // namespace corehold
