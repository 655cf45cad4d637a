// SPDX-License-Identifier: Apache-2.0
#include "hints/topology_options.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using Texts = std::map<std::string, std::string>;

std::string error_of(const Texts& texts, const TopologyGates& gates = {}) {
  const auto options = parse_topology_options({}, texts, gates);
  return options ? "" : options.error().message;
}

TEST(TopologyNames, ReadBackAsTheSame) {
  for (const auto policy : {TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                            TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode}) {
    EXPECT_EQ(*parse_topology_policy(name_of(policy)), policy);
  }
  for (const auto scope : {TopologyScope::kContainer, TopologyScope::kPod}) {
    EXPECT_EQ(*parse_topology_scope(name_of(scope)), scope);
  }
}

TEST(TopologyNames, AnUnknownOneIsAnsweredWithTheKnown) {
  EXPECT_EQ(parse_topology_policy("strict").error().message,
            "\"strict\" is not a topology manager policy; there are none, best-effort, "
            "restricted, single-numa-node");
  EXPECT_EQ(parse_topology_scope("").error().message,
            "\"\" is not a topology manager scope; there are container, pod");
  EXPECT_FALSE(parse_topology_policy("None"));
}

TEST(TopologyOptionsParse, ReadsEveryOptionAndKeepsTheRest) {
  const auto options = parse_topology_options(
      {.policy = TopologyPolicy::kRestricted, .scope = TopologyScope::kPod},
      {{"prefer-closest-numa-nodes", "T"}, {"max-allowable-numa-nodes", "+64"}}, {});
  ASSERT_TRUE(options);
  EXPECT_EQ(*options, (TopologyOptions{.policy = TopologyPolicy::kRestricted,
                                       .scope = TopologyScope::kPod,
                                       .prefer_closest_numa = true,
                                       .max_numa_nodes = 64}));
}

TEST(TopologyOptionsParse, NamesTheOptionThatIsWrong) {
  EXPECT_EQ(error_of({{"x", "true"}}), R"(unknown Topology Manager Policy option: "x")");
  EXPECT_EQ(
      error_of({{"prefer-closest-numa-nodes", "yes"}}),
      R"(bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax)");
  EXPECT_EQ(
      error_of({{"max-allowable-numa-nodes", "8.5"}}),
      R"(unable to convert policy option to integer "max-allowable-numa-nodes": strconv.Atoi: parsing "8.5": invalid syntax)");
  EXPECT_EQ(error_of({{"max-allowable-numa-nodes", "7"}}),
            R"(the minimum value of "max-allowable-numa-nodes" should not be less than 8)");
  EXPECT_EQ(error_of({{"max-allowable-numa-nodes", "-9"}}),
            R"(the minimum value of "max-allowable-numa-nodes" should not be less than 8)");
}

TEST(TopologyOptionsParse, TakesNumbersAsAKubeletDoes) {
  for (const char* text : {"", "+", "-", "+-9", "--9", " 9", "9 ", "0x10", "1_000", "9e1"}) {
    EXPECT_NE(error_of({{"max-allowable-numa-nodes", text}}).find("invalid syntax"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(error_of({{"max-allowable-numa-nodes", "9223372036854775808"}})
                .find("\"9223372036854775808\": value out of range"),
            std::string::npos);
  EXPECT_EQ(error_of({{"max-allowable-numa-nodes", "9223372036854775807"}}), "");
  EXPECT_EQ(error_of({{"max-allowable-numa-nodes", "0016"}}), "");
}

TEST(TopologyOptionsParse, StableOptionsNeedNoGate) {
  EXPECT_EQ(error_of({{"prefer-closest-numa-nodes", "true"}, {"max-allowable-numa-nodes", "9"}},
                     {.alpha_options = false, .beta_options = false}),
            "");
}

TEST(TopologyOptionsCheck, RefusesMoreNumaNodesThanAllowed) {
  const TopologyOptions eight{.policy = TopologyPolicy::kBestEffort};
  EXPECT_TRUE(check_topology_options(eight, machine("8s2c")));
  const auto refused = check_topology_options(eight, machine("9s2c"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "unsupported on machines with more than 8 NUMA Nodes");
  EXPECT_TRUE(check_topology_options({.policy = TopologyPolicy::kBestEffort, .max_numa_nodes = 9},
                                     machine("9s2c")));
  EXPECT_TRUE(check_topology_options({}, machine("9s2c")));
}

}  // namespace
}  // namespace corehold
