// SPDX-License-Identifier: Apache-2.0
#include "discover/numa_placement.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

LocalNode node(int id, const char* list, const char* subtype = "") {
  return {.id = NodeId(id), .cpus = cpus(list), .memory = memory_named(subtype)};
}

TEST(NumaPlacement, GivesEachCpuItsOnlyNode) {
  const auto placed = place_in_nodes({node(0, "0-1"), node(3, "2")});
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->node_of.at(CpuId(1)), NodeId(0));
  EXPECT_EQ(placed->node_of.at(CpuId(2)), NodeId(3));
  EXPECT_TRUE(placed->memory_nodes.empty());
}

TEST(NumaPlacement, PrefersOrdinaryMemoryOverHbmWhateverTheOrder) {
  const auto placed = place_in_nodes({node(0, "0-1", "HBM"), node(1, "0-3", "DRAM"), node(2, "")});
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->node_of.at(CpuId(0)), NodeId(1));
  EXPECT_EQ(placed->memory_nodes.str(), "0,2");
}

TEST(NumaPlacement, PrefersTheNarrowerNodeThenTheFirst) {
  const auto nested = place_in_nodes({node(0, "0-3"), node(1, "0-1"), node(2, "2-3")});
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->node_of.at(CpuId(3)), NodeId(2));
  EXPECT_EQ(nested->memory_nodes.str(), "0");
  const auto equal = place_in_nodes({node(5, "0-3"), node(4, "0-3")});
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->memory_nodes.str(), "4");
}

TEST(NumaPlacement, RefusesACpuInTwoNodes) {
  const auto crossing = place_in_nodes({node(1, "2-5"), node(0, "0-3")});
  ASSERT_FALSE(crossing);
  EXPECT_EQ(crossing.error().message,
            "CPU 2 is in two NUMA nodes: node 0 has CPUs 0-3, node 1 has CPUs 2-5");
  const auto hole = place_in_nodes({node(0, "0-3"), node(1, "0-1")});
  ASSERT_FALSE(hole);
  EXPECT_EQ(hole.error().message,
            "CPU 0 is in two NUMA nodes: node 0 has CPUs 0-3, node 1 has CPUs 0-1");
  EXPECT_EQ(place_in_nodes({node(1, "0"), node(1, "1")}).error().message,
            "NUMA node 1 appears twice");
}

}  // namespace
}  // namespace corehold
