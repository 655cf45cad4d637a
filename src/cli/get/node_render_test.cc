// SPDX-License-Identifier: Apache-2.0
//
// What a node says, as text and pictures, against the files of tests/golden/node. To accept
// a change: COREHOLD_UPDATE_GOLDEN=1 build/debug/src/cli/client_test, then read the diff.
#include "cli/get/node_render.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/draw/topology_svg.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kNow = seconds{1'700'000'000};

void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(COREHOLD_SOURCE_DIR) + "/tests/golden/node/" + name;
  if (std::getenv("COREHOLD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(actual, expected) << name;
}

CpuHolder holder(std::string_view pod, std::string_view container, std::string_view list) {
  const std::size_t slash = pod.find('/');
  return {.namespace_name = std::string(pod.substr(0, slash)),
          .pod = std::string(pod.substr(slash + 1)),
          .uid = std::string(pod),
          .container = std::string(container),
          .assigned = cpus(list),
          .promised = cpus(list)};
}

// A map with these holders; everything else is shared, CPUs of the first core reserved.
CpuMap map_of(const Topology& topology, std::vector<CpuHolder> holders) {
  CpuMap map{.node = "box", .topology = topology, .policy = "static"};
  map.reserved = topology.whole_cores_touching({topology.cpus().first()});
  for (CpuHolder& one : holders) one.numa = topology.nodes_of(one.assigned);
  map.containers = std::move(holders);
  map.shared = topology.cpus() - map.exclusive();
  map.free = map.shared - map.reserved;
  return map;
}

CpuMap small_map() {
  CpuHolder gateway = holder("web/gw-1", "envoy", "6-7");
  gateway.since = kNow - minutes{12};
  CpuHolder database = holder("db/pg-0", "main", "2-5");
  database.promised = cpus("2-3");
  database.pending = cpus("2-3");
  database.pending_until = kNow + seconds{4};
  database.since = kNow - hours{3};
  CpuMap map = map_of(machine("2s4c2t"), {gateway, database});
  map.options = {"full-pcpus-only"};
  return map;
}

// Three that have grown, one of them about to shrink; with light and dark numbers.
CpuMap grown_map() {
  CpuHolder shrinking = holder("a/shrinking", "main", "2-9");
  shrinking.promised = cpus("2-3");
  shrinking.pending = cpus("2-5");
  CpuHolder grown = holder("b/grown", "main", "10-15");
  grown.promised = cpus("10-13");
  std::vector<CpuHolder> holders{shrinking, grown};
  for (int i = 0; i < 6; ++i) {
    holders.push_back(holder(fmt::format("c/steady-{}", i), "main", fmt::format("{}", 16 + i)));
  }
  CpuHolder dark = holder("d/dark", "main", "24-31");
  dark.promised = cpus("24-25");
  dark.pending = cpus("24-27");
  holders.push_back(dark);
  return map_of(machine("2s2l4c2t"), std::move(holders));
}

// Every second quarter of the machine is held, in pieces of `size`.
CpuMap crowded_map(const Topology& topology, int size) {
  std::vector<CpuHolder> holders;
  const int count = topology.cpu_count();
  for (int first = 2, index = 0; first + size <= count; first += size, ++index) {
    if (index % 4 == 3) continue;
    holders.push_back(holder(fmt::format("team-{}/worker-{}", index % 3, index), "main",
                             fmt::format("{}-{}", first, first + size - 1)));
  }
  return map_of(topology, std::move(holders));
}

TEST(CpusTable, IsAsInTheStyleGuide) {
  expect_golden("cpus.txt", render_cpus_table(small_map(), kNow));
}

TEST(CpusTable, ShowsOfflineCpusAndEmptyNodes) {
  CpuMap map = map_of(machine("1s2c1t"), {});
  map.offline = cpus("1");
  map.policy = "none";
  map.reserved = {};
  EXPECT_EQ(render_cpus_table(map, kNow),
            "machine    1 socket, 1 NUMA node, 2 cores, 2 CPUs\n"
            "policy     none\n"
            "reserved   -    0 CPUs\n"
            "shared     0-1  2 CPUs, 1 free to give\n"
            "exclusive  -    0 CPUs\n"
            "offline    1    1 CPU\n");
}

TEST(CpusTable, EscapesNames) {
  const CpuMap map = map_of(machine("1s2c1t"), {holder("a\nb/\x1b[31mred", "c\td", "1")});
  const std::string table = render_cpus_table(map, kNow);
  EXPECT_NE(table.find("a\\nb/\\x1b[31mred  c\\td"), std::string::npos) << table;
}

TEST(CpusPicture, OfTwoToTwoHundredAndFiftySixCpus) {
  const auto draw = [](const CpuMap& map) {
    return render_topology_svg(map.topology, cpus_paint(map));
  };
  expect_golden("cpus-2.svg",
                draw(map_of(machine("1s2c1t"), {holder("default/run-x", "main", "1")})));
  expect_golden("cpus-16.svg", draw(small_map()));
  expect_golden("cpus-grown.svg", draw(grown_map()));
  CpuMap medium = crowded_map(machine("2s2l8c2t", Numbering::kThreadsFar), 6);
  medium.offline = cpus("61,63");
  medium.shared -= medium.offline;
  expect_golden("cpus-64.svg", draw(medium));
  expect_golden("cpus-256.svg", draw(crowded_map(machine("2s4n2l8c2t"), 8)));
}

TEST(PodsTable, SaysWhatRunsWhere) {
  const std::vector<PodSummary> pods{
      {.namespace_name = "web",
       .name = "gw-1",
       .uid = "web/gw-1",
       .phase = "Running",
       .status = "Running",
       .ready = 1,
       .containers = 1,
       .restarts = 0,
       .created_at = kNow - minutes{12}},
      {.namespace_name = "db",
       .name = "pg-0",
       .uid = "db/pg-0",
       .phase = "Running",
       .status = "CrashLoopBackOff",
       .ready = 1,
       .containers = 2,
       .restarts = 7,
       .created_at = kNow - hours{3}},
      {.namespace_name = "db",
       .name = "exporter",
       .uid = "x",
       .phase = "Running",
       .status = "Running",
       .ready = 1,
       .containers = 1,
       .created_at = kNow - seconds{5},
       .resize = "Deferred"},
      {.namespace_name = "batch",
       .name = "report\x07",
       .uid = "y",
       .phase = "Pending",
       .status = "Pending",
       .containers = 1,
       .created_at = kNow},
  };
  expect_golden("pods.txt", render_pods_table(pods, small_map(), kNow));
}

TEST(DelayText, CountsTheSecondThatHasBegunAndTenthsOfTheLast) {
  const std::pair<int, const char*> cases[] = {{10'000, "10s"}, {4000, "4s"}, {3001, "4s"},
                                               {1000, "1s"},    {950, "1s"},  {900, "0.9s"},
                                               {801, "0.9s"},   {1, "0.1s"}};
  for (const auto& [left, text] : cases) {
    EXPECT_EQ(left_text(std::chrono::milliseconds(left)), text) << left;
  }
  CpuHolder shrinking = holder("a/b", "main", "2-5");
  EXPECT_FALSE(delay_left(shrinking, kNow));
  shrinking.pending = cpus("2-3");
  EXPECT_FALSE(delay_left(shrinking, kNow)) << "it has not been told";
  shrinking.pending_until = kNow + seconds{2};
  EXPECT_EQ(delay_left(shrinking, kNow), seconds{2});
}

TEST(EventsTable, HasTheLatestLast) {
  const EventView started{.kind = "Pod",
                          .namespace_name = "db",
                          .name = "pg-0",
                          .container = "main",
                          .type = "Normal",
                          .reason = "Started",
                          .message = "on CPUs 2-5",
                          .last_at = kNow - seconds{90}};
  EventView drift = started;
  drift.reason = "CpusetDriftRepaired";
  drift.type = "Warning";
  drift.message = "ran on 0-15\nagain";
  drift.count = 3;
  drift.last_at = kNow - seconds{2};
  EventView offline{.kind = "Node",
                    .name = "box",
                    .type = "Warning",
                    .reason = "CpusOffline",
                    .message = "CPUs 7 went offline",
                    .last_at = kNow - hours{2}};
  expect_golden("events.txt", render_events_table({drift, started, offline}, kNow));
}

}  // namespace
}  // namespace corehold
