// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

CpuPlace at(int cpu, int core, int socket, int node, int uncore) {
  return {CpuId(cpu), CoreId(core), SocketId(socket), NodeId(node), UncoreId(uncore)};
}

std::string make_error(std::vector<CpuPlace> places) {
  const auto made = Topology::make({.places = std::move(places)});
  return made ? "" : made.error().message;
}

TEST(TopologyMake, KnowsEveryLevelOfATwoSocketMachine) {
  const Topology two = machine("2s4c2t");
  EXPECT_EQ(two.cpu_count(), 16);
  EXPECT_EQ(two.cores().size(), 8U);
  EXPECT_EQ(two.sockets()[1].cpus, cpus("8-15"));
  EXPECT_EQ(two.nodes()[0].cores, (std::vector<Slot>{0, 1, 2, 3}));
  EXPECT_EQ(two.threads_per_core(), 2);
  EXPECT_TRUE(two.is_regular());
}

TEST(TopologyMake, KeepsGapsInCpuNumbers) {
  const Topology sparse = without(machine("2s4c2t"), cpus("3,8-9"));
  EXPECT_EQ(sparse.cpus(), cpus("0-2,4-7,10-15"));
  EXPECT_EQ(sparse.cores().size(), 7U);
  EXPECT_FALSE(sparse.is_regular());
  EXPECT_EQ(sparse.place(CpuId(10)).socket, SocketId(1));
}

TEST(TopologyMake, NestsSocketsInNodesAndNodesInSockets) {
  const Topology sockets_in_nodes = machine("2n2s2c");
  EXPECT_EQ(sockets_in_nodes.nodes()[1].sockets, (std::vector<Slot>{2, 3}));
  const Topology nodes_in_sockets = machine("2s2n2c");
  EXPECT_EQ(nodes_in_sockets.sockets()[1].nodes, (std::vector<Slot>{2, 3}));
}

TEST(TopologyMake, RefusesWhatNoMachineIs) {
  EXPECT_EQ(make_error({}), "a machine needs at least one CPU");
  EXPECT_EQ(make_error({at(5000, 0, 0, 0, 0)}),
            "CPU 5000 is outside 0 to 4095, the most this build can hold");
  EXPECT_EQ(make_error({at(0, 0, 0, 64, 0)}), "NUMA node 64 of CPU 0 is outside 0 to 63");
  EXPECT_EQ(make_error({at(1, 0, 0, 0, 0), at(1, 0, 0, 1, 0)}),
            "CPU 1 is listed twice (NUMA nodes 0 and 1)");
  EXPECT_EQ(make_error({at(0, 0, 0, 0, 0), at(1, 0, 0, 1, 0)}),
            "core 0 spans two NUMA nodes: CPU 0 is in 0, CPU 1 in 1");
  EXPECT_EQ(make_error({at(0, -1, 0, 0, 0)}), "CPU 0 has a negative core, socket or L3 id");
}

TEST(TopologyMake, TellsAnL3CacheFromItsStandIn) {
  const auto mixed = Topology::make(
      {.places = {at(0, 0, 0, 0, 0), at(1, 1, 0, 0, 7)}, .without_l3 = cpus("1,100")});
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->without_l3(), cpus("1"));
  EXPECT_TRUE(mixed->is_l3(0));
  EXPECT_FALSE(mixed->is_l3(1));
  EXPECT_EQ(mixed->l3_caches(), (std::vector<Slot>{0}));
  EXPECT_TRUE(machine("1s4c2t").without_l3().empty());
}

TEST(TopologyMake, RefusesAnUncoreThatIsAnL3ForSomeOfItsCpus) {
  const auto made =
      Topology::make({.places = {at(0, 0, 0, 0, 3), at(1, 1, 0, 0, 3)}, .without_l3 = cpus("0")});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "uncore 3 is an L3 cache for CPU 1 but not for CPU 0");
}

TEST(TopologyQuestions, FindWholeCores) {
  const Topology one = machine("1s4c2t");
  EXPECT_EQ(one.whole_cores_touching(cpus("0,3")), cpus("0-3"));
  EXPECT_EQ(one.whole_cores_within(cpus("1-5")), cpus("2-5"));
  EXPECT_EQ(one.count_whole_cores(cpus("1-5")), 2);
}

TEST(TopologyQuestions, TranslateBetweenNodesAndCpus) {
  const Topology four = machine("2s2n2c");
  EXPECT_EQ(four.cpus_in({NodeId(1), NodeId(3), NodeId(9)}), cpus("2-3,6-7"));
  EXPECT_EQ(four.nodes_of(cpus("2,7,100")), (NodeSet{NodeId(1), NodeId(3)}));
}

TEST(TopologyQuestions, FallBackToPlainDistances) {
  auto made = Topology::make(
      {.places = {at(0, 0, 0, 0, 0), at(1, 1, 1, 1, 1)},
       .memory_nodes = {NodeId(4)},
       .distances = {{.from = NodeId(0), .to = {{NodeId(0), 10}, {NodeId(1), 32}}}}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->distance(NodeId(0), NodeId(1)), 32);
  EXPECT_EQ(made->distance(NodeId(1), NodeId(0)), 20);
  EXPECT_EQ(made->distance(NodeId(1), NodeId(1)), 10);
  EXPECT_EQ(made->memory_nodes(), (NodeSet{NodeId(4)}));
}

TEST(MachineShape, NumbersThreadsEitherWay) {
  EXPECT_EQ(machine("1s4c2t").cores()[1].cpus, (std::vector<CpuId>{CpuId(2), CpuId(3)}));
  EXPECT_EQ(machine("1s4c2t", Numbering::kThreadsFar).cores()[1].cpus,
            (std::vector<CpuId>{CpuId(1), CpuId(5)}));
}

}  // namespace
}  // namespace corehold
