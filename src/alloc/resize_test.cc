// SPDX-License-Identifier: Apache-2.0
#include "alloc/resize.h"

#include <bit>

#include <gtest/gtest.h>

#include "alloc/node_choice.h"
#include "topology/testing.h"

namespace corehold {
namespace {

std::string grown(const Topology& topology, std::string_view assigned, std::string_view free,
                  int count, const ResizeOptions& options = {}) {
  const auto result = grow_by_topology(topology, cpus(assigned), cpus(free), count, options);
  return result ? result->str() : result.error().message;
}

std::string shrunk(const Topology& topology, std::string_view assigned, std::string_view promised,
                   int count, const ResizeOptions& options = {}) {
  const auto result = shrink_by_topology(topology, cpus(assigned), cpus(promised), count, options);
  return result ? result->str() : result.error().message;
}

ResizeOptions whole_cores(int threads) {
  return {.take = {.group_size = threads}, .whole_cores = true};
}

// CPUs 0-5 are NUMA node 0, 6-11 node 1; siblings are neighbours.
TEST(GrowByTopology, FollowsTheWorkedExample) {
  const Topology topology = machine("2s3c2t");
  EXPECT_EQ(grown(topology, "0-1", "2-10", 4, whole_cores(2)), "0-3");
  EXPECT_EQ(grown(topology, "0-3", "4-10", 6, whole_cores(2)), "0-5");
  EXPECT_EQ(shrunk(topology, "0-5", "0-1", 4, whole_cores(2)), "0-3");
  EXPECT_EQ(shrunk(topology, "0-3", "0-1", 2, whole_cores(2)), "0-1");
}

TEST(GrowByTopology, CompletesACoreBeforeTouchingAnother) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(grown(topology, "0-2", "3-15", 4), "0-3");
  EXPECT_EQ(grown(topology, "0,2", "1,3-15", 3), "0-2");
}

TEST(GrowByTopology, DoesNotCompleteCoresWhereCpusAreSpread) {
  const Topology far = machine("1s4c2t", Numbering::kThreadsFar);
  EXPECT_EQ(grown(far, "0-1", "2-7", 3, {.take = {.order = CpuOrder::kSpread}}), "0-2");
  EXPECT_EQ(grown(far, "0-1", "2-7", 3), "0-1,4");
}

TEST(GrowByTopology, StaysOnItsNodesWhileTheyHaveRoom) {
  const Topology topology = machine("2s4c2t");
  // A fresh allocation would take the busier socket.
  EXPECT_EQ(grown(topology, "0-1", "2-8", 4), "0-3");
  EXPECT_EQ(grown(topology, "0-1,8-9", "2-7,10-15", 10), "0-9");
}

TEST(GrowByTopology, TakesTheFewestFurtherNodes) {
  const Topology topology = machine("2s2n4c");
  // Node 1 and 2 have one free CPU each, node 3 has three.
  EXPECT_EQ(grown(topology, "0-3", "4,8,12-14", 6), "0-3,12-13");
}

TEST(GrowByTopology, PrefersTheNearestOfEquallyManyNodes) {
  TopologyParts parts{.places = machine("4s2c").places()};
  const auto row = [](int from, std::vector<int> to) {
    DistanceRow distances{.from = NodeId(from), .to = {}};
    for (int node = 0; node < 4; ++node) {
      distances.to.emplace_back(NodeId(node), to[static_cast<std::size_t>(node)]);
    }
    return distances;
  };
  parts.distances = {row(0, {10, 40, 20, 30}), row(1, {40, 10, 20, 20}), row(2, {20, 20, 10, 20}),
                     row(3, {30, 20, 20, 10})};
  const auto topology = Topology::make(parts);
  ASSERT_TRUE(topology);
  EXPECT_EQ(grown(*topology, "0-1", "2-7", 3), "0-1,4");
}

TEST(GrowByTopology, PrefersItsSocketWhereDistancesSayNothing) {
  const Topology topology = machine("2s2n2c");
  EXPECT_EQ(grown(topology, "4-5", "0-3,6-7", 4), "4-7");
  EXPECT_EQ(grown(topology, "2-3", "0-1,4-7", 4), "0-3");
}

TEST(GrowByTopology, KeepsToOneSocketRatherThanFewNodesWhenAlignedBySocket) {
  const Topology topology = machine("2s3n4c");
  // Nodes 0-2 are socket 0: one free CPU in nodes 1 and 2, four in node 3 of the other.
  EXPECT_EQ(grown(topology, "0-3", "4,8,12-15", 6), "0-3,12-13");
  EXPECT_EQ(grown(topology, "0-3", "4,8,12-15", 6, {.take = {.align_by_socket = true}}), "0-4,8");
}

TEST(GrowByTopology, FillsTheCachesItTouchesFirst) {
  const Topology caches = machine("1s4l4c");
  EXPECT_EQ(grown(caches, "4-5", "0-1,6-7,8-15", 4, {.take = {.prefer_uncore = true}}), "4-7");
  EXPECT_EQ(grown(caches, "4-5", "0-1,6-7,8-15", 8, {.take = {.prefer_uncore = true}}), "4-11");
}

TEST(GrowByTopology, SplitsEvenlyOverTheNodesItNeeds) {
  const Topology topology = machine("2s4c2t");
  const ResizeOptions evenly{.take = {.across_numa = true}};
  EXPECT_EQ(grown(topology, "0-3", "4-15", 8, evenly), "0-7");
  EXPECT_EQ(grown(topology, "0-3", "4-15", 12, evenly), "0-5,8-13");
  // What it has cannot move: six stay on node 0.
  EXPECT_EQ(grown(topology, "0-5", "6,8-15", 10, evenly), "0-5,8-11");
  ResizeOptions cores = evenly;
  cores.whole_cores = true;
  cores.take.group_size = 2;
  EXPECT_EQ(grown(topology, "0-3", "4-15", 10, cores), "0-5,8-11");
}

TEST(GrowByTopology, TakesWholeCoresAlone) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(grown(topology, "0-1", "2,4-7", 4, whole_cores(2)), "0-1,4-5");
  EXPECT_EQ(grown(topology, "0-1", "2-7", 3, whole_cores(2)),
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_EQ(grown(topology, "0-1", "2,4-5", 6, whole_cores(2)),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 4, "
            "requested CPUs = 6, CPUs per core = 2");
}

TEST(GrowByTopology, AddsUpCoresOfDifferentSizes) {
  // Node 0: cores of 2, 1 and 2 CPUs; node 1: two cores of 2.
  const Topology broken = without(machine("2s3c2t"), cpus("3,10-11"));
  EXPECT_EQ(grown(broken, "0-1", "2,4-9", 3, whole_cores(2)), "0-2");
  EXPECT_EQ(grown(broken, "0-1", "2,4-9", 4, whole_cores(2)), "0-1,4-5");
  // Five on node 0 are held or free, but six need node 1, and one core of node 0 less.
  EXPECT_EQ(grown(broken, "0-1", "2,4-9", 6, whole_cores(2)), "0-1,4-7");
  EXPECT_EQ(grown(broken, "0-1", "4-9", 3, whole_cores(2)),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 8, "
            "requested CPUs = 3, CPUs per core = 2");
}

TEST(GrowByTopology, SaysHowManyThereAre) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(grown(topology, "0-1", "2-4", 6),
            "not enough cpus available to satisfy request: requested=6, available=5");
  EXPECT_EQ(grown(topology, "0-3", "4-7", 2), "2 CPUs cannot grow from 0-3, which are 4");
  EXPECT_EQ(grown(topology, "0,20", "4-7", 4),
            "assigned CPUs 0,20 are not a subset of the machine's 0-15");
}

TEST(ShrinkByTopology, KeepsWhatWasPromised) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(shrunk(topology, "0-3,8-11", "8-9", 4), "8-11");
  EXPECT_EQ(shrunk(topology, "0-3,8-11", "8-9", 6), "0-1,8-11");
  EXPECT_EQ(shrunk(topology, "0-3", "3", 2), "2-3");
}

TEST(ShrinkByTopology, NeedNotUndoGrowthInReverse) {
  const Topology topology = machine("2s8c");
  // Promised 0-3, grown to 8 and to 12: node 0 was full then, and has room now.
  EXPECT_EQ(shrunk(topology, "0-3,6-7,8-13", "0-3", 6), "0-3,6-7");
}

TEST(ShrinkByTopology, LeavesAsManyNodesAsItCan) {
  const Topology topology = machine("2s2n4c");
  // One of node 1, one of node 2, three of node 3: two more fit on node 3 alone.
  EXPECT_EQ(shrunk(topology, "0-3,4,8,12-14", "0-3", 6), "0-3,12-13");
}

TEST(ShrinkByTopology, StaysEvenWhereCpusAreDistributed) {
  const Topology topology = machine("2s4c2t");
  const ResizeOptions evenly{.take = {.across_numa = true}};
  EXPECT_EQ(shrunk(topology, "0-5,8-13", "0-1", 8, evenly), "0-3,8-11");
  EXPECT_EQ(shrunk(topology, "0-5,8-13", "0-1", 6, evenly), "0-5");
  EXPECT_EQ(shrunk(topology, "0-5,8-13", "0-1", 8), "0-5,8-9");
}

TEST(ShrinkByTopology, KeepsWholeCoresAroundPromisedCpus) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(shrunk(topology, "0-5", "0,2", 4, whole_cores(2)), "0-3");
  EXPECT_EQ(shrunk(topology, "0-5", "0,2", 2, whole_cores(2)),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, "
            "requested CPUs = 2, CPUs per core = 2");
}

TEST(ShrinkByTopology, RefusesWhatIsNotBetweenPromisedAndAssigned) {
  const Topology topology = machine("2s4c2t");
  EXPECT_EQ(shrunk(topology, "0-3", "0-1", 1),
            "1 CPUs are not between promised 0-1 and assigned 0-3");
  EXPECT_EQ(shrunk(topology, "0-3", "0-1", 5),
            "5 CPUs are not between promised 0-1 and assigned 0-3");
  EXPECT_EQ(shrunk(topology, "0-3", "0,8", 3),
            "promised CPUs 0,8 are not a subset of assigned 0-3");
}

TEST(NodeChoice, StaysQuickAndFewWithSixtyFourNodes) {
  const Topology large = machine("4s16n2c");
  NodeWish wish{.base = std::vector<int>(64), .room = std::vector<int>(64, 2), .wanted = 40};
  wish.base[17] = 2;
  const auto nodes = NodeChoice(large, wish).run();
  ASSERT_TRUE(nodes);
  EXPECT_EQ(std::popcount(*nodes), 20);
  EXPECT_NE(*nodes & (NodeSlots{1} << 17U), 0U);
  wish.wanted = 129;
  EXPECT_FALSE(NodeChoice(large, wish).run());
}

}  // namespace
}  // namespace corehold
