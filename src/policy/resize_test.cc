// SPDX-License-Identifier: Apache-2.0
//
// Resizes as decisions: the worked example of the design, the scenarios of KEP-5554 under
// every topology policy, and the exact words of refusals.
#include "policy/resize.h"

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/admission_testing.h"
#include "policy/none_policy.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::array kEveryPolicy{TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                  TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode};

AdmittingNode node_of(Topology topology, const StaticOptions& options, std::string_view reserved,
                      const TopologyOptions& alignment = {}) {
  const CpuSet kept = cpus(reserved);
  auto node = AdmittingNode::make(
      std::move(topology),
      {.config = {.options = options, .reserved = kept, .reserved_count = kept.size()},
       .topology = alignment});
  CHECK(node.has_value());
  return *std::move(node);
}

// The machine of KEP-5554: CPUs 0-5 on NUMA node 0, 6-11 on node 1, siblings side by side.
AdmittingNode kep_node(TopologyPolicy policy, const StaticOptions& options = {},
                       TopologyScope scope = TopologyScope::kContainer) {
  return node_of(machine("2s3c2t"), options, "11", {.policy = policy, .scope = scope});
}

Pod guaranteed(std::string_view name, int count) {
  return pod_of(name, {fmt::format("main cpu={} memory=1Gi", count)});
}

Pod two(std::string_view name, int one, int other) {
  return pod_of(
      name, {fmt::format("c1 cpu={} memory=1Gi", one), fmt::format("c2 cpu={} memory=1Gi", other)});
}

std::string admit(AdmittingNode& node, const Pod& pod) { return text_of(node.admit(pod)); }

std::string resize(AdmittingNode& node, const Pod& wanted) {
  const Bookings before = node.bookings();
  const ResizeDecision decision = node.resize(wanted);
  if (decision.refusal) {
    EXPECT_EQ(node.bookings(), before);
  }
  EXPECT_EQ(node.problem(), "");
  return text_of(decision);
}

TEST(Resize, FollowsTheWorkedExample) {
  AdmittingNode node = kep_node(TopologyPolicy::kSingleNumaNode, {.full_pcpus_only = true});
  EXPECT_EQ(admit(node, guaranteed("a", 2)), "main=0-1");
  EXPECT_EQ(resize(node, guaranteed("a", 4)), "main=0-3");
  EXPECT_EQ(resize(node, guaranteed("a", 6)), "main=0-5");
  EXPECT_EQ(resize(node, guaranteed("a", 8)),
            "Infeasible: container main of pod default/a: cannot grow from 6 CPUs (0-5) to 8, even "
            "if every other pod left: Resources cannot be allocated with Topology locality; policy "
            "single-numa-node; cpu=8 needs 2 NUMA nodes");
  EXPECT_EQ(node.cpus("a", "main"), "0-5");
  EXPECT_EQ(resize(node, guaranteed("a", 4)), "main=0-3");
  EXPECT_EQ(resize(node, guaranteed("a", 1)),
            "Infeasible: prohibitedCPUAllocationError: container main of pod default/a cannot have "
            "less than the CPUs it was promised, 0-1: RequestedCPUs=1, AllocatedCPUs=4, "
            "PromisedCPUs=2, GuaranteedCPUs=1");
  EXPECT_EQ(resize(node, guaranteed("a", 2)), "main=0-1");
}

// The scenarios that the proposal's end-to-end tests go through, for each topology policy.
// CPUs 0-11 are NUMA node 0, of which 0 is reserved, 12-23 node 1; siblings side by side.
class ResizeScenario : public testing::TestWithParam<TopologyPolicy> {
 protected:
  AdmittingNode node_ = node_of(machine("2s6c2t"), {}, "0", {.policy = GetParam()});
};
INSTANTIATE_TEST_SUITE_P(Policies, ResizeScenario, testing::ValuesIn(kEveryPolicy));

TEST_P(ResizeScenario, GrowsWithinCapacity) {
  EXPECT_EQ(admit(node_, guaranteed("a", 2)), "main=2-3");
  EXPECT_EQ(resize(node_, guaranteed("a", 4)), "main=2-5");
  EXPECT_EQ(node_.bookings().cpus.find({"a", "main"})->promised, cpus("2-3"));
}

TEST_P(ResizeScenario, MemoryGoesUpAndDownBesideTheCpus) {
  EXPECT_EQ(admit(node_, guaranteed("a", 2)), "main=2-3");
  EXPECT_EQ(resize(node_, pod_of("a", {"main cpu=4 memory=2Gi"})), "main=2-5");
  EXPECT_EQ(resize(node_, pod_of("a", {"main cpu=2 memory=500Mi"})), "main=2-3");
  EXPECT_EQ(resize(node_, pod_of("a", {"main cpu=2 memory=1Gi"})), "unchanged");
}

TEST_P(ResizeScenario, RefusesLessThanPromised) {
  admit(node_, guaranteed("a", 4));
  EXPECT_THAT(resize(node_, guaranteed("a", 2)),
              StartsWith("Infeasible: prohibitedCPUAllocationError: "));
  EXPECT_EQ(node_.cpus("a", "main"), "2-5");
}

TEST_P(ResizeScenario, RefusesMoreThanTheNodeHas) {
  admit(node_, guaranteed("a", 2));
  EXPECT_THAT(resize(node_, guaranteed("a", 24)), StartsWith("Infeasible: "));
  EXPECT_EQ(node_.cpus("a", "main"), "2-3");
}

TEST_P(ResizeScenario, IsInfeasibleWithTheGateOff) {
  admit(node_, guaranteed("a", 2));
  node_.gates.exclusive_cpus = false;
  EXPECT_EQ(resize(node_, guaranteed("a", 4)),
            "Infeasible: container main of pod default/a: Resize is infeasible for Guaranteed Pods "
            "alongside CPU Manager policy \"static\"; feature gate "
            "InPlacePodVerticalScalingExclusiveCPUs is off");
  EXPECT_EQ(resize(node_, pod_of("a", {"main cpu=2 memory=2Gi"})), "unchanged");
}

TEST_P(ResizeScenario, LeavesPodsOnSharedCpusAlone) {
  node_.gates.exclusive_cpus = false;
  admit(node_, pod_of("half", {"main cpu=500m memory=1Gi"}));
  EXPECT_EQ(resize(node_, pod_of("half", {"main cpu=1500m memory=1Gi"})), "unchanged");
  admit(node_, pod_of("burst", {"main cpu=1..2 memory=1Gi"}));
  EXPECT_EQ(resize(node_, pod_of("burst", {"main cpu=2..3 memory=1Gi"})), "unchanged");
}

TEST_P(ResizeScenario, OneOfTwoContainersGrowsAndShrinks) {
  EXPECT_EQ(admit(node_, two("a", 2, 2)), "c1=2-3; c2=4-5");
  EXPECT_EQ(resize(node_, two("a", 4, 2)), "c1=2-3,6-7");
  EXPECT_EQ(resize(node_, two("a", 2, 2)), "c1=2-3");
}

TEST_P(ResizeScenario, GrowsOneIsRefusedBelowPromisedAndGrowsTheOther) {
  admit(node_, two("a", 2, 2));
  EXPECT_EQ(resize(node_, two("a", 3, 2)), "c1=1-3");
  EXPECT_THAT(resize(node_, two("a", 1, 2)),
              StartsWith("Infeasible: prohibitedCPUAllocationError: container c1"));
  EXPECT_EQ(resize(node_, two("a", 3, 3)), "c2=4-6");
  EXPECT_EQ(node_.cpus("a", "c1"), "1-3");
}

TEST_P(ResizeScenario, IsAllOrNothing) {
  admit(node_, two("a", 2, 2));
  // c1 alone would fit; c2 never does.
  EXPECT_THAT(resize(node_, two("a", 4, 24)), StartsWith("Infeasible: container c2"));
  EXPECT_THAT(resize(node_, two("a", 4, 1)),
              StartsWith("Infeasible: prohibitedCPUAllocationError"));
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3");
}

TEST_P(ResizeScenario, SwapsCpusBetweenTwoContainersOfAFullNode) {
  admit(node_, two("a", 2, 2));
  EXPECT_EQ(resize(node_, two("a", 6, 2)), "c1=2-3,6-9");
  EXPECT_EQ(admit(node_, guaranteed("b", 3)), "main=1,10-11");
  EXPECT_EQ(admit(node_, guaranteed("c", 12)), "main=12-23");
  // Nothing is free: c2 gets just what c1 gives up, once it has.
  const ResizeDecision decision = node_.begin_resize(two("a", 2, 6));
  EXPECT_EQ(text_of(decision), "c1=2-3 c2=4-9<c1:6-9");
  EXPECT_EQ(node_.problem(), "");
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3,6-9");
  EXPECT_EQ(node_.cpus("a", "c2"), "4-5");
  EXPECT_TRUE(node_.admit(guaranteed("d", 1)).refusal);
  node_.finish_shrink("a", "c1", decision);
  EXPECT_EQ(node_.problem(), "");
  EXPECT_EQ(node_.cpus("a", "c1"), "2-3");
  EXPECT_EQ(node_.cpus("a", "c2"), "4-9");
  EXPECT_EQ(node_.bookings().cpus.shared, cpus("0"));
}

TEST_P(ResizeScenario, IsDeferredWhileOthersHoldTheCpus) {
  admit(node_, guaranteed("a", 2));
  admit(node_, guaranteed("b", 9));
  admit(node_, guaranteed("c", 12));
  const ResizeDecision decision = node_.resize(guaranteed("a", 4));
  ASSERT_EQ(decision.verdict, ResizeVerdict::kDeferred);
  EXPECT_EQ(decision.refusal->held_by, std::vector<std::string>{"b"});
  EXPECT_THAT(decision.refusal->message,
              EndsWith("; free CPUs: none; needs CPUs held by b main 1,4-11"));
  node_.release("b");
  EXPECT_EQ(resize(node_, guaranteed("a", 4)), "main=2-5");
}

// Two nodes are only used where the policy allows it.
TEST_P(ResizeScenario, ExtendsItsNodesAsThePolicyAllows) {
  EXPECT_EQ(admit(node_, guaranteed("a", 8)), "main=2-9");
  const std::string answer = resize(node_, guaranteed("a", 14));
  if (GetParam() == TopologyPolicy::kSingleNumaNode) {
    EXPECT_THAT(answer, StartsWith("Infeasible: "));
  } else {
    EXPECT_EQ(answer, "main=1-14");
  }
}

TEST(ResizeRestricted, DoesNotLeaveItsNodeWhileAnIdleNodeWouldHoldIt) {
  AdmittingNode node = kep_node(TopologyPolicy::kRestricted);
  admit(node, guaranteed("a", 2));
  admit(node, guaranteed("b", 2));
  EXPECT_EQ(resize(node, guaranteed("a", 5)),
            "Deferred: container main of pod default/a: cannot grow from 2 CPUs (0-1) to 5 now: "
            "Resources cannot be allocated with Topology locality; policy restricted; cpu=5 needs "
            "2 NUMA nodes now, with 0 where it has CPUs already, 1 on an idle machine; free CPUs: "
            "4-10; needs CPUs held by b main 2-3");
}

TEST(ResizePodScope, KeepsAllContainersOfThePodTogether) {
  AdmittingNode node = kep_node(TopologyPolicy::kSingleNumaNode, {}, TopologyScope::kPod);
  EXPECT_EQ(admit(node, two("a", 2, 2)), "c1=0-1; c2=2-3");
  EXPECT_EQ(resize(node, two("a", 3, 3)), "c1=0-1,4 c2=2-3,5");
  EXPECT_EQ(resize(node, two("a", 4, 3)),
            "Infeasible: pod default/a: cannot be resized, even if every other pod left: Resources "
            "cannot be allocated with Topology locality; policy single-numa-node; cpu=7 needs 2 "
            "NUMA nodes");
}

TEST(ResizePodScope, ContainersOfOtherNodesDoNotMatterWithScopeContainer) {
  AdmittingNode node = kep_node(TopologyPolicy::kSingleNumaNode);
  EXPECT_EQ(admit(node, two("a", 4, 4)), "c1=0-3; c2=6-9");
  EXPECT_EQ(resize(node, two("a", 6, 5)), "c1=0-5 c2=6-10");
}

TEST(ResizeRefusals, NamesTheErrorsOfTheProposal) {
  AdmittingNode node = kep_node(TopologyPolicy::kNone);
  admit(node, pod_of("a", {"main cpu=2 memory=1Gi", "side cpu=500m memory=1Gi"}));
  ResizeDecision decision =
      node.resize(pod_of("a", {"main cpu=1500m memory=1Gi", "side cpu=500m memory=1Gi"}));
  EXPECT_EQ(decision.refusal->error, "inconsistentCPUAllocationError");
  EXPECT_EQ(decision.refusal->container, "main");
  EXPECT_EQ(
      text_of(decision),
      "Infeasible: inconsistentCPUAllocationError: container main of pod default/a cannot move "
      "from exclusive to shared CPUs: RequestedCPUs=1500m, AllocatedCPUs=2, "
      "Shared2Exclusive=false");
  decision = node.resize(pod_of("a", {"main cpu=2 memory=1Gi", "side cpu=1 memory=1Gi"}));
  EXPECT_EQ(
      text_of(decision),
      "Infeasible: inconsistentCPUAllocationError: container side of pod default/a cannot move "
      "from shared to exclusive CPUs: RequestedCPUs=1, AllocatedCPUs=500m, "
      "Shared2Exclusive=true");
  EXPECT_EQ(node.problem(), "");
}

TEST(ResizeRefusals, NeedsPromisedCpusOnRecord) {
  const AdmittingNode node = kep_node(TopologyPolicy::kNone);
  Bookings bookings = node.bookings();
  bookings.cpus.shared -= cpus("0-1");
  bookings.cpus.pods["a"]["main"] = {.assigned = cpus("0-1")};
  const ResizeDecision decision =
      decide_resize(node.rules(), node.gates, bookings, guaranteed("a", 2), guaranteed("a", 4));
  EXPECT_EQ(decision.refusal->error, "getPromisedCPUSetError");
  EXPECT_EQ(text_of(decision),
            "Infeasible: getPromisedCPUSetError: no CPUs are on record as promised to container "
            "main of pod default/a: PodUID=a, ContainerName=main");
}

TEST(ResizeRefusals, KeepsTheQosClass) {
  AdmittingNode node = kep_node(TopologyPolicy::kNone);
  admit(node, guaranteed("a", 2));
  EXPECT_EQ(
      resize(node, pod_of("a", {"main cpu=2..3 memory=1Gi"})),
      "Infeasible: pod default/a: Pod QOS Class may not change as a result of resizing; it is "
      "Guaranteed and would be Burstable; container main: cpu request 2, limit 3");
}

TEST(ResizeRefusals, WantsWholeCores) {
  AdmittingNode node = node_of(machine("2s3c2t"), {.full_pcpus_only = true}, "0");
  admit(node, guaranteed("a", 2));
  EXPECT_EQ(resize(node, guaranteed("a", 3)),
            "Infeasible: container main of pod default/a: cannot grow from 2 CPUs (2-3) to 3, even "
            "if every other pod left: SMT Alignment Error: requested 3 cpus not multiple cpus per "
            "core = 2");
  EXPECT_EQ(resize(node, guaranteed("a", 4)), "main=2-5");
  EXPECT_EQ(
      resize(node, guaranteed("a", 3)),
      "Infeasible: container main of pod default/a: cannot shrink from 4 CPUs (2-5) to 3: SMT "
      "Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  // Core 0 has the reserved CPU 0, so ten CPUs are the most.
  EXPECT_EQ(resize(node, guaranteed("a", 10)), "main=2-11");
  EXPECT_THAT(resize(node, guaranteed("a", 12)),
              HasSubstr("not enough free physical CPUs: available physical CPUs = 10"));
}

TEST(ResizeRefusals, LeavesTheSharedPoolItsCpus) {
  AdmittingNode node =
      node_of(machine("2s3c2t"), {.strict_cpu_reservation = true, .min_shared_cpus = 2}, "0");
  admit(node, guaranteed("a", 2));
  EXPECT_EQ(resize(node, guaranteed("a", 9)), "main=1-9");
  EXPECT_EQ(
      resize(node, guaranteed("a", 10)),
      "Infeasible: container main of pod default/a: cannot grow from 9 CPUs (1-9) to 10, even "
      "if every other pod left: not enough cpus available to satisfy request: it would leave "
      "1 CPUs in the shared pool, which keeps at least 2");
}

TEST(ResizeRefusals, PodLevelResourcesInitContainersAndGates) {
  AdmittingNode node = kep_node(TopologyPolicy::kNone);
  admit(node, pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=2 memory=1Gi"}));
  EXPECT_EQ(resize(node, pod_of("a", {"init:setup cpu=2 memory=1Gi", "main cpu=2 memory=1Gi"})),
            "Infeasible: container setup of pod default/a: init containers cannot be resized");
  Pod levelled = pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=4 memory=1Gi"});
  levelled.resources.emplace();
  levelled.resources->requests["cpu"] = Quantity::of(4);
  EXPECT_EQ(resize(node, levelled),
            "Infeasible: pod default/a: pods with pod-level resources cannot be resized");
  node.gates.in_place = false;
  EXPECT_EQ(resize(node, pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=4 memory=1Gi"})),
            "Infeasible: pod default/a: in-place resize is off on this node; feature gate "
            "InPlacePodVerticalScaling");
}

TEST(ResizeRefusals, MemoryOfAMemoryManagerStaysWhereItIs) {
  constexpr std::int64_t kRoom = std::int64_t{8} << 30;
  auto made = AdmittingNode::make(
      machine("2s3c2t"),
      {.config = {.reserved = cpus("11"), .reserved_count = 1},
       .topology = {.policy = TopologyPolicy::kSingleNumaNode},
       .memory = {{NodeId(0), {{"memory", kRoom}}}, {NodeId(1), {{"memory", kRoom}}}}});
  ASSERT_TRUE(made);
  AdmittingNode node = *std::move(made);
  EXPECT_EQ(admit(node, guaranteed("a", 2)), "main=0-1 memory@0");
  EXPECT_EQ(resize(node, guaranteed("a", 4)), "main=0-3");
  EXPECT_EQ(resize(node, pod_of("a", {"main cpu=4 memory=2Gi"})),
            "Infeasible: container main of pod default/a: Resize is infeasible for Guaranteed Pods "
            "alongside Memory Manager policy \"Static\"; its memory has its place on NUMA nodes");
}

TEST(Resize, PolicyNoneHasNothingToDecide) {
  const Topology topology = machine("2s3c2t");
  const NonePolicy none;
  const AdmissionRules rules{.topology = topology, .policy = none};
  const ResizeDecision decision =
      decide_resize(rules, {}, {}, guaranteed("a", 2), guaranteed("a", 40));
  EXPECT_EQ(text_of(decision), "unchanged");
}

TEST(Resize, AShrinkUnderWayIsDecidedAgainTheSame) {
  AdmittingNode node = kep_node(TopologyPolicy::kNone);
  admit(node, guaranteed("a", 2));
  resize(node, guaranteed("a", 6));
  const ResizeDecision first = node.begin_resize(guaranteed("a", 4));
  EXPECT_EQ(node.bookings().cpus.find({"a", "main"})->pending, first.containers[0].after);
  // After a restart the pod is as it was wanted, and pending is forgotten.
  Bookings restarted = node.bookings();
  apply(restarted.cpus, SetPending{{"a", "main"}, std::nullopt});
  const ResizeDecision again =
      decide_resize(node.rules(), node.gates, restarted, guaranteed("a", 4), guaranteed("a", 4));
  EXPECT_EQ(text_of(again), text_of(first));
  // Growing back ends it.
  EXPECT_EQ(text_of(node.begin_resize(guaranteed("a", 6))), "unchanged");
  EXPECT_FALSE(node.bookings().cpus.find({"a", "main"})->pending);
}

TEST(Resize, WaitsForItsOwnShrinkRatherThanLeavingItsNode) {
  AdmittingNode node = node_of(machine("2s3c2t"), {}, "0");
  EXPECT_EQ(admit(node, two("a", 2, 2)), "c1=2-3; c2=4-5");
  EXPECT_EQ(resize(node, two("a", 3, 2)), "c1=1-3");
  // All of node 1 is free, but c2 can stay on node 0.
  EXPECT_EQ(resize(node, two("a", 2, 3)), "c1=2-3 c2=1,4-5<c1:1");
}

TEST(Resize, TakesWhatIsFreeBeforeWhatMustBeWaitedFor) {
  AdmittingNode node = node_of(machine("1s6c2t"), {}, "11");
  admit(node, two("a", 2, 2));
  EXPECT_EQ(resize(node, two("a", 4, 2)), "c1=0-1,4-5");
  EXPECT_EQ(resize(node, two("a", 2, 4)), "c1=0-1 c2=2-3,6-7");
}

TEST(Resize, HoldsWhatIsFreeForAContainerThatWaitsForMore) {
  AdmittingNode node = node_of(machine("1s6c"), {}, "5");
  admit(node, two("a", 1, 1));
  resize(node, two("a", 3, 1));
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
  AdmittingNode node = node_of(machine("1s6c"), {}, "5");
  admit(node, two("a", 1, 1));
  resize(node, two("a", 3, 1));
  const ResizeDecision decision = node.begin_resize(two("a", 1, 4));
  State state = node.bookings().cpus;
  apply(state, node.rules().policy.release(state, {"a", "c2"}));
  apply(state, finish_shrink(state, "a", "c1", decision));
  EXPECT_EQ(state.shared, cpus("1-5"));
  EXPECT_EQ(finish_shrink(state, "a", "c2", decision).edits.size(), 0U);
  EXPECT_EQ(finish_shrink(state, "b", "c1", decision).edits.size(), 0U);
}

}  // namespace
}  // namespace corehold
