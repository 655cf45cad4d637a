// SPDX-License-Identifier: Apache-2.0
//
// Resizes as decisions: the worked example of the design, shrinks that others wait for,
// and what is asked again.
#include "policy/resize/resize.h"

#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/none_policy.h"
#include "policy/resize/resize_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

TEST(Resize, FollowsTheWorkedExample) {
  AdmittingNode node =
      kep_node({.policy = TopologyPolicy::kSingleNumaNode}, {.full_pcpus_only = true});
  EXPECT_EQ(admitted(node, one("a", 2)), "main=0-1");
  EXPECT_EQ(resized(node, one("a", 4)), "main=0-3");
  EXPECT_EQ(resized(node, one("a", 6)), "main=0-5");
  EXPECT_EQ(resized(node, one("a", 8)),
            "Infeasible: container main of pod default/a: cannot grow from 6 CPUs (0-5) to 8, even "
            "if every other pod left: Resources cannot be allocated with Topology locality; policy "
            "single-numa-node; cpu=8 needs 2 NUMA nodes");
  EXPECT_EQ(node.cpus("a", "main"), "0-5");
  EXPECT_EQ(resized(node, one("a", 4)), "main=0-3");
  EXPECT_EQ(resized(node, one("a", 1)),
            "Infeasible: prohibitedCPUAllocationError: container main of pod default/a cannot have "
            "less than the CPUs it was promised, 0-1: RequestedCPUs=1, AllocatedCPUs=4, "
            "PromisedCPUs=2, GuaranteedCPUs=1");
  EXPECT_EQ(resized(node, one("a", 2)), "main=0-1");
}

TEST(Resize, PolicyNoneHasNothingToDecide) {
  const Topology topology = machine("2s3c2t");
  const NonePolicy none;
  const AdmissionRules rules{.topology = topology, .policy = none};
  const ResizeDecision decision = decide_resize(rules, {}, {}, one("a", 2), one("a", 40));
  EXPECT_EQ(text_of(decision), "unchanged");
}

TEST(Resize, AShrinkUnderWayIsDecidedAgainTheSame) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kNone});
  admitted(node, one("a", 2));
  resized(node, one("a", 6));
  const ResizeDecision first = node.begin_resize(one("a", 4));
  EXPECT_EQ(node.bookings().cpus.find({"a", "main"})->pending, first.containers[0].after);
  // After a restart the pod is as it was wanted, and pending is forgotten.
  Bookings restarted = node.bookings();
  apply(restarted.cpus, SetPending{{"a", "main"}, std::nullopt});
  const ResizeDecision again =
      decide_resize(node.rules(), node.gates, restarted, one("a", 4), one("a", 4));
  EXPECT_EQ(text_of(again), text_of(first));
  // Growing back ends it.
  EXPECT_EQ(text_of(node.begin_resize(one("a", 6))), "unchanged");
  EXPECT_FALSE(node.bookings().cpus.find({"a", "main"})->pending);
}

TEST(Resize, WaitsForItsOwnShrinkRatherThanLeavingItsNode) {
  AdmittingNode node = resize_node(machine("2s3c2t"), {}, "0");
  EXPECT_EQ(admitted(node, two("a", 2, 2)), "c1=2-3; c2=4-5");
  EXPECT_EQ(resized(node, two("a", 3, 2)), "c1=1-3");
  // All of node 1 is free, but c2 can stay on node 0.
  EXPECT_EQ(resized(node, two("a", 2, 3)), "c1=2-3 c2=1,4-5<c1:1");
}

TEST(Resize, TakesWhatIsFreeBeforeWhatMustBeWaitedFor) {
  AdmittingNode node = resize_node(machine("1s6c2t"), {}, "11");
  admitted(node, two("a", 2, 2));
  EXPECT_EQ(resized(node, two("a", 4, 2)), "c1=0-1,4-5");
  EXPECT_EQ(resized(node, two("a", 2, 4)), "c1=0-1 c2=2-3,6-7");
}

TEST(Resize, HoldsWhatIsFreeForAContainerThatWaitsForMore) {
  AdmittingNode node = resize_node(machine("1s6c"), {}, "5");
  admitted(node, two("a", 1, 1));
  resized(node, two("a", 3, 1));
  const ResizeDecision decision = node.begin_resize(two("a", 1, 4));
  EXPECT_EQ(text_of(decision), "c1=0 c2=1-4<c1:2-3");
  EXPECT_EQ(node.cpus("a", "c2"), "1,4");
  EXPECT_EQ(node.bookings().cpus.shared, cpus("5"));
  EXPECT_EQ(node.problem(), "");
  node.finish_shrink("a", "c1", decision);
  EXPECT_EQ(node.cpus("a", "c2"), "1-4");
  EXPECT_EQ(node.problem(), "");
}

TEST(Resize, SharesWhatAContainerThatHasGoneWaitedFor) {
  AdmittingNode node = resize_node(machine("1s6c"), {}, "5");
  admitted(node, two("a", 1, 1));
  resized(node, two("a", 3, 1));
  const ResizeDecision decision = node.begin_resize(two("a", 1, 4));
  State state = node.bookings().cpus;
  apply(state, node.rules().policy.release(state, {"a", "c2"}));
  apply(state, finish_shrink(state, "a", "c1", decision));
  EXPECT_EQ(state.shared, cpus("1-5"));
  EXPECT_EQ(finish_shrink(state, "a", "c2", decision).edits.size(), 0U);
  EXPECT_EQ(finish_shrink(state, "b", "c1", decision).edits.size(), 0U);
}

TEST(Resize, TakesOfTheSharedPoolOnlyWhatItCanSpare) {
  AdmittingNode node =
      resize_node(machine("1s10c"), {.strict_cpu_reservation = true, .min_shared_cpus = 2}, "0");
  admitted(node, two("a", 1, 1));
  EXPECT_EQ(resized(node, two("a", 3, 1)), "c1=1,3-4");
  // Five are free, of which three may go; the two of c1 make it five more.
  const ResizeDecision decision = node.begin_resize(two("a", 1, 6));
  EXPECT_EQ(text_of(decision), "c1=1 c2=2-7<c1:3-4");
  EXPECT_EQ(node.bookings().cpus.shared.size(), 2);
  EXPECT_EQ(node.problem(), "");
}

TEST(Resize, ConfirmingAShrinkTwiceIsHarmless) {
  AdmittingNode node = resize_node(machine("1s6c"), {}, "5");
  admitted(node, two("a", 1, 1));
  resized(node, two("a", 3, 1));
  const ResizeDecision decision = node.begin_resize(two("a", 1, 4));
  node.finish_shrink("a", "c1", decision);
  const Bookings once = node.bookings();
  node.finish_shrink("a", "c1", decision);
  EXPECT_EQ(node.bookings(), once);
}

}  // namespace
}  // namespace corehold
