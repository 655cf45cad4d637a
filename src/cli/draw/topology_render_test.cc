// SPDX-License-Identifier: Apache-2.0
//
// Table, JSON and SVG against the files of tests/golden/topology. To accept a change:
// COREHOLD_UPDATE_GOLDEN=1 build/debug/src/cli/cli_test, then read the diff.
#include "cli/draw/topology_render.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/draw/topology_svg.h"
#include "discover/source.h"
#include "topology/testing.h"

namespace corehold {
namespace {

void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(COREHOLD_SOURCE_DIR) + "/tests/golden/topology/" + name;
  if (std::getenv("COREHOLD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(actual, expected) << name;
}

Topology from(const std::string& source) {
  auto made = discover(*TopologySource::parse(source));
  if (!made) ADD_FAILURE() << made.error().message;
  return *std::move(made);
}

Topology captured(const std::string& name) {
  return from("xml:" + std::string(COREHOLD_SOURCE_DIR) + "/tests/machines/" + name + ".xml");
}

// 2s4c2t with an uneven core and CPUs kept from the scheduler.
Topology isolated_machine() {
  TopologyParts parts{.places = without(machine("2s4c2t"), cpus("5")).places()};
  parts.isolated = cpus("6-7,14-15");
  return *Topology::make(std::move(parts));
}

TEST(TopologyGolden, Tables) {
  for (const char* name : {"hybrid", "snc2", "hbm", "one-cpu", "offline-siblings", "epyc-2s-nps4",
                           "no-l3", "l3-on-some"}) {
    expect_golden(std::string(name) + ".txt", render_topology_table(captured(name)));
  }
  expect_golden("isolated.txt", render_topology_table(isolated_machine()));
}

TEST(TopologyGolden, Json) {
  for (const char* name : {"hybrid", "memory-only-node", "no-l3", "l3-on-some"}) {
    expect_golden(std::string(name) + ".json", render_topology_json(captured(name)));
  }
  expect_golden("isolated.json", render_topology_json(isolated_machine()));
}

TEST(TopologyGolden, Svg) {
  for (const char* name : {"hybrid", "sockets-in-numa", "hbm", "snc2", "no-l3", "l3-on-some"}) {
    const Topology machine = captured(name);
    expect_golden(std::string(name) + ".svg", render_topology_svg(machine, plain_paint(machine)));
  }
  const Topology isolated = isolated_machine();
  expect_golden("isolated.svg", render_topology_svg(isolated, plain_paint(isolated)));
}

TEST(TopologySummary, CountsInWords) {
  EXPECT_EQ(summarize(machine("2s4c2t")), "2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs");
  EXPECT_EQ(summarize(machine("1s1c1t")), "1 socket, 1 NUMA node, 1 core, 1 CPU");
  EXPECT_EQ(summarize(machine("1s4l2c1t")), "1 socket, 1 NUMA node, 4 L3 caches, 8 cores, 8 CPUs");
}

TEST(TopologyJson, IsJsonWithEveryCpu) {
  const auto value = boost::json::parse(render_topology_json(machine("2s2n2l4c2t")));
  EXPECT_EQ(value.at("summary").at("cpus").as_int64(), 64);
  EXPECT_EQ(value.at("cpuPlaces").as_array().size(), 64U);
  EXPECT_EQ(value.at("numaNodes").as_array().size(), 4U);
}

}  // namespace
}  // namespace corehold
