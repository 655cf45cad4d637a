// SPDX-License-Identifier: Apache-2.0
//
// The machines of tests/machines, each odd in its own way.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "discover/hwloc_source.h"
#include "discover/source.h"
#include "topology/testing.h"

namespace corehold {
namespace {

std::string path_of(const std::string& name) {
  return std::string(COREHOLD_SOURCE_DIR) + "/tests/machines/" + name + ".xml";
}

Topology captured(const std::string& name) {
  auto built = discover({.kind = TopologySource::Kind::kXml, .detail = path_of(name)});
  if (!built) ADD_FAILURE() << built.error().message;
  return *std::move(built);
}

std::string text_of(const std::string& name) {
  std::ifstream file(path_of(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Machines, HybridCoresDifferInSize) {
  const Topology hybrid = captured("hybrid");
  EXPECT_EQ(hybrid.cpus(), cpus("0-19"));
  EXPECT_EQ(hybrid.cores().size(), 14U);
  EXPECT_EQ(hybrid.core(hybrid.core_of(CpuId(11))).size(), 2);
  EXPECT_EQ(hybrid.core(hybrid.core_of(CpuId(12))).size(), 1);
  EXPECT_FALSE(hybrid.is_regular());
}

TEST(Machines, OfflineCpusAreNotPartOfIt) {
  const Topology machine = captured("offline-siblings");
  EXPECT_EQ(machine.cpus(), cpus("0-2,4-8,12-15"));
  EXPECT_EQ(machine.place(CpuId(8)).core, CoreId(0));
  EXPECT_EQ(machine.core(machine.core_of(CpuId(1))).size(), 1);
}

TEST(Machines, WithoutL3TheSocketStandsIn) {
  const Topology machine = captured("no-l3");
  EXPECT_EQ(machine.uncores().size(), 2U);
  EXPECT_EQ(machine.place(CpuId(7)).uncore, UncoreId(1));
  EXPECT_EQ(machine.without_l3(), cpus("0-7"));
  EXPECT_TRUE(captured("hbm").without_l3().empty());
}

TEST(Machines, SomeCpusMayHaveAnL3AndOthersNone) {
  const Topology machine = captured("l3-on-some");
  EXPECT_EQ(machine.without_l3(), cpus("4-7"));
  EXPECT_EQ(machine.uncores().size(), 2U);
  EXPECT_TRUE(machine.is_l3(0));
  EXPECT_EQ(machine.uncores()[1].cpus, cpus("4-7"));
}

TEST(Machines, ANodeWithoutCpusIsAMemoryNodeWithDistances) {
  const Topology machine = captured("memory-only-node");
  EXPECT_EQ(machine.nodes().size(), 2U);
  EXPECT_EQ(machine.memory_nodes().str(), "2");
  EXPECT_EQ(machine.distance(NodeId(0), NodeId(1)), 21);
  EXPECT_EQ(machine.distance(NodeId(0), NodeId(2)), 17);
}

TEST(Machines, MemoryIsToldForNodesWithAndWithoutCpus) {
  EXPECT_EQ(captured("memory-only-node").memory(),
            (MemoryInventory{{NodeId(0), {{"memory", 0}}},
                             {NodeId(1), {{"memory", 0}}},
                             {NodeId(2), {{"memory", 17'179'869'184}}}}));
  EXPECT_TRUE(captured("no-l3").memory().empty());
}

// The one-CPU machine with `memory` as the attribute and pages of its node.
Result<Topology> with_memory(const std::string& memory, const std::string& pages) {
  std::string text = text_of("one-cpu");
  const std::string end = "gp_index=\"6\">";
  text.replace(text.find(end), end.size(),
               "gp_index=\"6\" local_memory=\"" + memory + "\">" + pages);
  return topology_from_xml(text);
}

TEST(Machines, HugePagesAreTakenOffTheMemory) {
  const auto machine = with_memory("17179869184",
                                   "<page_type size=\"4096\" count=\"3932160\"/>"
                                   "<page_type size=\"2097152\" count=\"512\"/>"
                                   "<page_type size=\"1073741824\" count=\"0\"/>");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->memory(),
            (MemoryInventory{
                {NodeId(0), {{"memory", 16'106'127'360}, {"hugepages-2Mi", 1'073'741'824}}}}));
}

TEST(Machines, MorePagesThanMemoryLeaveNone) {
  const auto machine = with_memory("4096",
                                   "<page_type size=\"4096\" count=\"1\"/>"
                                   "<page_type size=\"65536\" count=\"9223372036854775807\"/>");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->memory(),
            (MemoryInventory{
                {NodeId(0), {{"memory", 0}, {"hugepages-64Ki", 9'223'372'036'854'775'807}}}}));
}

TEST(Machines, HbmIsAMemoryNodeBesideTheDramOfItsSocket) {
  const Topology machine = captured("hbm");
  EXPECT_EQ(machine.nodes()[1].cpus, cpus("8-15"));
  EXPECT_EQ(machine.memory_nodes().str(), "2-3");
  EXPECT_EQ(machine.distance(NodeId(0), NodeId(2)), 13);
}

TEST(Machines, TwoSocketsMayShareANode) {
  const Topology machine = captured("sockets-in-numa");
  ASSERT_EQ(machine.nodes().size(), 1U);
  EXPECT_EQ(machine.nodes()[0].sockets, (std::vector<Slot>{0, 1}));
}

TEST(Machines, AnL3MaySpanNodes) {
  const Topology machine = captured("snc2");
  EXPECT_EQ(machine.uncores()[0].nodes, (std::vector<Slot>{0, 1}));
  EXPECT_EQ(machine.nodes()[1].cpus, cpus("4-7,20-23"));
}

TEST(Machines, EpycHasTheL3NumbersOfItsKernel) {
  const Topology machine = captured("epyc-2s-nps4");
  EXPECT_EQ(machine.cpu_count(), 256);
  EXPECT_EQ(machine.nodes().size(), 8U);
  EXPECT_EQ(machine.uncores().size(), 16U);
  EXPECT_EQ(machine.place(CpuId(255)),
            (CpuPlace{CpuId(255), CoreId(127), SocketId(1), NodeId(7), UncoreId(15)}));
  EXPECT_EQ(machine.distance(NodeId(0), NodeId(3)), 12);
  EXPECT_EQ(machine.distance(NodeId(0), NodeId(4)), 32);
  EXPECT_TRUE(machine.is_regular());
}

TEST(Machines, OneCpuIsAMachine) { EXPECT_EQ(captured("one-cpu").cpus(), cpus("0")); }

TEST(Machines, ACpuInTwoNodesIsRefusedByName) {
  const auto built = topology_from_xml(text_of("bad-cpu-in-two-nodes"));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().message,
            "CPU 2 is in two NUMA nodes: node 0 has CPUs 0-2, node 1 has CPUs 2-3");
}

TEST(Machines, ACpuListedTwiceIsRefusedByName) {
  std::string text = text_of("no-l3");
  const std::string from = "type=\"PU\" os_index=\"1\"";
  text.replace(text.find(from), from.size(), "type=\"PU\" os_index=\"0\"");
  EXPECT_EQ(topology_from_xml(text).error().message, "CPU 0 appears twice");
}

TEST(Machines, TruncatedXmlIsAnError) {
  const std::string text = text_of("hbm");
  for (std::size_t size = 0; size + 20 < text.size(); size += 211) {
    EXPECT_FALSE(topology_from_xml(text.substr(0, size))) << size;
  }
}

// Whatever the damage: an answer or an error, never a crash.
RC_GTEST_PROP(Machines, DamagedXmlNeverCrashes, ()) {
  std::string text = text_of(*rc::gen::element<std::string>("hbm", "no-l3", "memory-only-node"));
  const int edits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto count = *rc::gen::inRange<std::size_t>(0, 40);
    text.replace(at, count,
                 *rc::gen::element<std::string>("", "0", "f", "9999999999", "\"", "PU", ">"));
  }
  static_cast<void>(topology_from_xml(text));
}

}  // namespace
}  // namespace corehold
