// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of KEP-5554 under every topology policy and scope, and what these policies
// mean for containers that grow.
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/resize/resize_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::EndsWith;
using testing::StartsWith;

// The scenarios that the proposal's end-to-end tests go through, for each topology policy
// and scope. CPUs 0-11 are NUMA node 0, of which 0 is reserved, 12-23 node 1; siblings side by
// side.
class ResizeScenario : public testing::TestWithParam<std::tuple<TopologyPolicy, TopologyScope>> {
 protected:
  static TopologyPolicy policy() { return std::get<0>(GetParam()); }

  AdmittingNode node_ = resize_node(machine("2s6c2t"), {}, "0",
                                    {.policy = policy(), .scope = std::get<1>(GetParam())});
};
INSTANTIATE_TEST_SUITE_P(
    PoliciesAndScopes, ResizeScenario,
    testing::Combine(testing::Values(TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                     TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode),
                     testing::Values(TopologyScope::kContainer, TopologyScope::kPod)));

TEST_P(ResizeScenario, GrowsWithinCapacity) {
  EXPECT_EQ(admitted(node_, one("a", 2)), "main=2-3");
  EXPECT_EQ(resized(node_, one("a", 4)), "main=2-5");
  EXPECT_EQ(node_.bookings().cpus.find({"a", "main"})->promised, cpus("2-3"));
}

TEST_P(ResizeScenario, MemoryGoesUpAndDownBesideTheCpus) {
  EXPECT_EQ(admitted(node_, one("a", 2)), "main=2-3");
  EXPECT_EQ(resized(node_, pod_of("a", {"main cpu=4 memory=2Gi"})), "main=2-5");
  EXPECT_EQ(resized(node_, pod_of("a", {"main cpu=2 memory=500Mi"})), "main=2-3");
  EXPECT_EQ(resized(node_, pod_of("a", {"main cpu=2 memory=1Gi"})), "unchanged");
}

TEST_P(ResizeScenario, RefusesLessThanPromised) {
  admitted(node_, one("a", 4));
  EXPECT_THAT(resized(node_, one("a", 2)),
              StartsWith("Infeasible: prohibitedCPUAllocationError: "));
  EXPECT_EQ(node_.cpus("a", "main"), "2-5");
}

TEST_P(ResizeScenario, RefusesMoreThanTheNodeHas) {
  admitted(node_, one("a", 2));
  EXPECT_THAT(resized(node_, one("a", 24)), StartsWith("Infeasible: "));
  EXPECT_EQ(node_.cpus("a", "main"), "2-3");
}

TEST_P(ResizeScenario, IsInfeasibleWithTheGateOff) {
  admitted(node_, one("a", 2));
  node_.gates.exclusive_cpus = false;
  EXPECT_EQ(resized(node_, one("a", 4)),
            "Infeasible: container main of pod default/a: Resize is infeasible for Guaranteed Pods "
            "alongside CPU Manager policy \"static\"; feature gate "
            "InPlacePodVerticalScalingExclusiveCPUs is off");
  EXPECT_EQ(resized(node_, pod_of("a", {"main cpu=2 memory=2Gi"})), "unchanged");
}

TEST_P(ResizeScenario, LeavesPodsOnSharedCpusAlone) {
  for (const bool is_on : {false, true}) {
    node_.gates.exclusive_cpus = is_on;
    admitted(node_, pod_of("half", {"main cpu=500m memory=1Gi"}));
    EXPECT_EQ(resized(node_, pod_of("half", {"main cpu=1500m memory=1Gi"})), "unchanged");
    admitted(node_, pod_of("burst", {"main cpu=1..2 memory=1Gi"}));
    EXPECT_EQ(resized(node_, pod_of("burst", {"main cpu=2..3 memory=1Gi"})), "unchanged");
    EXPECT_EQ(node_.bookings().cpus.pods.size(), 0U);
    node_.release("half");
    node_.release("burst");
  }
}

TEST_P(ResizeScenario, OneOfTwoContainersGrowsAndShrinks) {
  EXPECT_EQ(admitted(node_, two("a", 2, 2)), "c1=2-3; c2=4-5");
  EXPECT_EQ(resized(node_, two("a", 4, 2)), "c1=2-3,6-7");
  EXPECT_EQ(resized(node_, two("a", 2, 2)), "c1=2-3");
}

TEST_P(ResizeScenario, GrowsOneIsRefusedBelowPromisedAndGrowsTheOther) {
  admitted(node_, two("a", 2, 2));
  EXPECT_EQ(resized(node_, two("a", 3, 2)), "c1=1-3");
  EXPECT_THAT(resized(node_, two("a", 1, 2)),
              StartsWith("Infeasible: prohibitedCPUAllocationError: container c1"));
  EXPECT_EQ(resized(node_, two("a", 3, 3)), "c2=4-6");
  EXPECT_EQ(node_.cpus("a", "c1"), "1-3");
}

TEST_P(ResizeScenario, RefusesToRestoreBelowPromisedAndToExceedTheNode) {
  admitted(node_, two("a", 4, 2));
  EXPECT_EQ(resized(node_, two("a", 6, 4)), "c1=2-5,8-9 c2=6-7,10-11");
  EXPECT_THAT(resized(node_, two("a", 2, 2)),
              StartsWith("Infeasible: prohibitedCPUAllocationError: container c1"));
  EXPECT_THAT(resized(node_, two("a", 6, 20)), StartsWith("Infeasible: "));
  EXPECT_EQ(resized(node_, two("a", 4, 2)), "c1=2-5 c2=6-7");
}

TEST_P(ResizeScenario, GrowsTwiceAndShrinksOnce) {
  EXPECT_EQ(admitted(node_, one("a", 4)), "main=2-5");
  EXPECT_EQ(resized(node_, one("a", 8)), "main=2-9");
  EXPECT_EQ(resized(node_, one("a", 10)), "main=2-11");
  EXPECT_EQ(resized(node_, one("a", 6)), "main=2-7");
}

TEST_P(ResizeScenario, OneGrowsWithWhatTheOtherFreesAndWithWhatIsFree) {
  admitted(node_, two("a", 2, 2));
  EXPECT_EQ(resized(node_, two("a", 6, 2)), "c1=2-3,6-9");
  // Node 0 has three CPUs left, c2 needs four more; two of c1's must be waited for.
  EXPECT_EQ(resized(node_, two("a", 4, 7)), "c1=2-3,6-7 c2=1,4-5,8-11<c1:8-9");
}

TEST_P(ResizeScenario, IsAllOrNothing) {
  admitted(node_, two("a", 2, 2));
  // c1 alone would fit; c2 never does.
  EXPECT_THAT(resized(node_, two("a", 4, 24)), StartsWith("Infeasible: "));
  EXPECT_THAT(resized(node_, two("a", 4, 1)),
              StartsWith("Infeasible: prohibitedCPUAllocationError"));
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3");
}

TEST_P(ResizeScenario, SwapsCpusBetweenTwoContainersOfAFullNode) {
  admitted(node_, two("a", 2, 2));
  EXPECT_EQ(resized(node_, two("a", 6, 2)), "c1=2-3,6-9");
  EXPECT_EQ(admitted(node_, one("b", 3)), "main=1,10-11");
  EXPECT_EQ(admitted(node_, one("c", 12)), "main=12-23");
  // Nothing is free: c2 gets just what c1 gives up, once it has.
  const ResizeDecision decision = node_.begin_resize(two("a", 2, 6));
  EXPECT_EQ(text_of(decision), "c1=2-3 c2=4-9<c1:6-9");
  EXPECT_EQ(node_.problem(), "");
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3,6-9");
  EXPECT_EQ(node_.cpus("a", "c2"), "4-5");
  EXPECT_TRUE(node_.admit(one("d", 1)).refusal);
  node_.finish_shrink("a", "c1", decision);
  EXPECT_EQ(node_.problem(), "");
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3");
  EXPECT_EQ(node_.cpus("a", "c2"), "4-9");
  EXPECT_EQ(node_.bookings().cpus.shared, cpus("0"));
}

TEST_P(ResizeScenario, IsDeferredWhileOthersHoldTheCpus) {
  admitted(node_, one("a", 2));
  admitted(node_, one("b", 9));
  admitted(node_, one("c", 12));
  const ResizeDecision decision = node_.resize(one("a", 4));
  ASSERT_EQ(decision.verdict, ResizeVerdict::kDeferred);
  EXPECT_EQ(decision.refusal->held_by, std::vector<std::string>{"b"});
  EXPECT_THAT(decision.refusal->message,
              EndsWith("; free CPUs: none; needs CPUs held by b main 1,4-11"));
  node_.release("b");
  EXPECT_EQ(resized(node_, one("a", 4)), "main=2-5");
}

// Two nodes are only used where the policy allows it.
TEST_P(ResizeScenario, ExtendsItsNodesAsThePolicyAllows) {
  EXPECT_EQ(admitted(node_, one("a", 8)), "main=2-9");
  const std::string answer = resized(node_, one("a", 14));
  if (policy() == TopologyPolicy::kSingleNumaNode) {
    EXPECT_THAT(answer, StartsWith("Infeasible: "));
  } else {
    EXPECT_EQ(answer, "main=1-14");
  }
}

TEST(ResizeRestricted, DoesNotLeaveItsNodeWhileAnIdleNodeWouldHoldIt) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kRestricted});
  admitted(node, one("a", 2));
  admitted(node, one("b", 2));
  EXPECT_EQ(resized(node, one("a", 5)),
            "Deferred: container main of pod default/a: cannot grow from 2 CPUs (0-1) to 5 now: "
            "Resources cannot be allocated with Topology locality; policy restricted; cpu=5 needs "
            "2 NUMA nodes now, with 0 where it has CPUs already, 1 on an idle machine; free CPUs: "
            "4-10; needs CPUs held by b main 2-3");
}

TEST(ResizePodScope, KeepsAllContainersOfThePodTogether) {
  AdmittingNode node =
      kep_node({.policy = TopologyPolicy::kSingleNumaNode, .scope = TopologyScope::kPod});
  EXPECT_EQ(admitted(node, two("a", 2, 2)), "c1=0-1; c2=2-3");
  EXPECT_EQ(resized(node, two("a", 3, 3)), "c1=0-1,4 c2=2-3,5");
  EXPECT_EQ(resized(node, two("a", 4, 3)),
            "Infeasible: pod default/a: cannot be resized, even if every other pod left: Resources "
            "cannot be allocated with Topology locality; policy single-numa-node; cpu=7 needs 2 "
            "NUMA nodes");
}

TEST(ResizePodScope, ContainersOfOtherNodesDoNotMatterWithScopeContainer) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kSingleNumaNode});
  EXPECT_EQ(admitted(node, two("a", 4, 4)), "c1=0-3; c2=6-9");
  EXPECT_EQ(resized(node, two("a", 6, 5)), "c1=0-5 c2=6-10");
}

}  // namespace
}  // namespace corehold
