// SPDX-License-Identifier: Apache-2.0
#include "hints/merge.h"

#include <gtest/gtest.h>

#include "hints/cpu_hints.h"
#include "topology/testing.h"

namespace corehold {
namespace {

ResourceHints listed(const std::vector<std::pair<std::string, bool>>& hints) {
  HintFamily family;
  for (const auto& [list, preferred] : hints) {
    family.listed.push_back({.nodes = nodes(list), .preferred = preferred});
  }
  return {.resource = "listed", .family = family};
}

// 2 sockets of 2 NUMA nodes with 4 CPUs each; node n has CPUs 4n to 4n+3.
class MergeOnFourNodes : public testing::Test {
 protected:
  ResourceHints cpus(int count, std::string_view free,
                     SocketAlignment alignment = SocketAlignment::kIgnored) const {
    return {.resource = "cpu",
            .family = cpu_hints(machine_, corehold::cpus(free), {}, count, alignment)};
  }
  std::string merged(const std::vector<ResourceHints>& resources, TopologyPolicy policy,
                     bool closest = false) const {
    const Merged answer =
        merge(map_, resources, {.policy = policy, .prefer_closest_numa = closest});
    EXPECT_TRUE(answer.exact);
    return (answer.hint.nodes ? answer.hint.nodes->str() : "any") +
           (answer.hint.preferred ? " preferred" : "") + (answer.admit ? "" : " refused");
  }

  Topology machine_ = machine("2s2n4c");
  NumaMap map_ = numa_map(machine_);
};

constexpr auto kNone = TopologyPolicy::kNone;
constexpr auto kBestEffort = TopologyPolicy::kBestEffort;
constexpr auto kRestricted = TopologyPolicy::kRestricted;
constexpr auto kSingle = TopologyPolicy::kSingleNumaNode;

TEST_F(MergeOnFourNodes, PolicyNoneAdmitsEverythingAnywhere) {
  EXPECT_EQ(merged({cpus(4, "0-3"), ResourceHints{.family = HintFamily{}}}, kNone), "any");
}

TEST_F(MergeOnFourNodes, WhoeverDoesNotCareChangesNothing) {
  for (const auto policy : {kBestEffort, kRestricted, kSingle}) {
    EXPECT_EQ(merged({cpus(4, "4-15"), {}, {}}, policy), "1 preferred");
  }
  EXPECT_EQ(merged({{}, {}}, kBestEffort), "0-3 preferred");
  EXPECT_EQ(merged({{}, {}}, kSingle), "any preferred");
}

TEST_F(MergeOnFourNodes, PrefersTheLowestNodeThatSuitsAll) {
  const ResourceHints device = listed({{"2", true}, {"3", true}, {"2-3", false}});
  for (const auto policy : {kBestEffort, kRestricted, kSingle}) {
    EXPECT_EQ(merged({cpus(4, "0-15"), device}, policy), "2 preferred");
  }
}

TEST_F(MergeOnFourNodes, RefusesWhatIsNotPreferredUnlessBestEffort) {
  const ResourceHints device = listed({{"3", true}, {"0,3", false}});
  EXPECT_EQ(merged({cpus(4, "0-7"), device}, kBestEffort), "0");
  EXPECT_EQ(merged({cpus(4, "0-7"), device}, kRestricted), "0 refused");
  EXPECT_EQ(merged({cpus(4, "0-7"), device}, kSingle), "any refused");
}

TEST_F(MergeOnFourNodes, TakesAsManyNodesAsTheMostDemandingNeeds) {
  const ResourceHints device = listed({{"1", true}, {"0-1", false}, {"1,3", false}});
  EXPECT_EQ(merged({cpus(8, "0-15"), device}, kBestEffort), "0-1");
}

TEST_F(MergeOnFourNodes, WhatCannotBeMetIsNeverPreferred) {
  EXPECT_EQ(merged({cpus(4, "0-15"), ResourceHints{.family = HintFamily{}}}, kBestEffort), "0");
  EXPECT_EQ(merged({cpus(17, "0-15")}, kRestricted), "0-3 refused");
}

TEST_F(MergeOnFourNodes, PrefersNodesCloseToEachOtherIfAsked) {
  map_.distances = {{10, 32, 32, 12}, {32, 10, 12, 32}, {32, 12, 10, 32}, {12, 32, 32, 10}};
  EXPECT_EQ(merged({cpus(8, "0-15")}, kRestricted), "0-1 preferred");
  EXPECT_EQ(merged({cpus(8, "0-15")}, kRestricted, true), "1-2 preferred");
  EXPECT_EQ(merged({cpus(4, "4-15")}, kSingle, true), "1 preferred");
}

TEST_F(MergeOnFourNodes, AWholeSocketIsAsGoodAsFewerNodesWithSocketAlignment) {
  const ResourceHints device = listed({{"2-3", true}});
  EXPECT_EQ(merged({cpus(4, "0-15"), device}, kRestricted), "2-3 refused");
  EXPECT_EQ(merged({cpus(4, "0-15", SocketAlignment::kPreferred), device}, kRestricted),
            "2-3 preferred");
}

TEST(MergeOnManyNodes, NeedsNoListOfHints) {
  const Topology large = machine("8s8n32c2t");
  const NumaMap map = numa_map(large);
  const ResourceHints cpus{.resource = "cpu",
                           .family = cpu_hints(large, large.cpus() - corehold::cpus("0-63"), {},
                                               100, SocketAlignment::kIgnored)};
  const Merged merged =
      merge(map, {cpus, cpus, cpus}, {.policy = kRestricted, .max_numa_nodes = 64});
  EXPECT_EQ(merged.hint.nodes->str(), "1-2");
  EXPECT_TRUE(merged.admit);
  EXPECT_TRUE(merged.exact);
}

// A container may ask for any number of kinds of devices.
TEST(MergeOnManyNodes, CostDoesNotExplodeWithTheNumberOfResources) {
  const Topology large = machine("2s4n4c");
  std::vector<ResourceHints> resources;
  for (int i = 0; i < 70; ++i) {
    HintFamily family;
    Threshold& threshold = family.threshold.emplace();
    threshold.within = nodes("0-7");
    threshold.needs.push_back({.piles = {{.nodes = {NodeId(i % 8)}, .amount = 1}}, .amount = 1});
    family.preference.size = 1;
    resources.push_back({.resource = std::to_string(i), .family = family});
  }
  const Merged merged = merge(numa_map(large), resources, {.policy = kBestEffort});
  EXPECT_EQ(merged.hint.nodes->str(), "0");
  EXPECT_FALSE(merged.hint.preferred);
}

TEST(MergeOnManyNodes, SaysWhenTheSearchWasCutShort) {
  // Distances without any structure, amounts that fit together in few ways.
  NumaMap map;
  HintFamily family;
  Threshold& threshold = family.threshold.emplace();
  Need need;
  std::uint64_t noise = 1;
  const auto next = [&noise] {
    return noise = noise * 6364136223846793005U + 1442695040888963407U;
  };
  std::int64_t sum = 0;
  for (int node = 0; node < 64; ++node) {
    map.nodes.insert(NodeId(node));
    map.distances.emplace_back();
    for (int to = 0; to < 64; ++to) {
      map.distances.back().push_back(10 + static_cast<int>((next() >> 33) % 200));
    }
    const auto amount = static_cast<std::int64_t>((next() >> 33) % 1'000'000);
    need.piles.push_back({.nodes = {NodeId(node)}, .amount = amount});
    sum += amount;
  }
  need.amount = sum / 2;
  threshold.within = map.nodes;
  threshold.needs.push_back(need);
  family.preference.size = 30;
  const std::vector<ResourceHints> resources{{.resource = "a", .family = family}};
  const TopologyOptions options{.policy = kBestEffort, .prefer_closest_numa = true};
  const Merged merged = merge(map, resources, options);
  EXPECT_FALSE(merged.exact);
  EXPECT_EQ(merged, merge(map, resources, options));
  EXPECT_TRUE(merged.hint.preferred);
  EXPECT_EQ(merged.hint.nodes->size(), 30);
}

}  // namespace
}  // namespace corehold
