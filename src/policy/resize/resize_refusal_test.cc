// SPDX-License-Identifier: Apache-2.0
//
// Resizes that are Infeasible or Deferred: every cause, in its exact words.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/resize/resize_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

TEST(ResizeRefusals, NamesTheErrorsOfTheProposal) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kNone});
  admitted(node, pod_of("a", {"main cpu=2 memory=1Gi", "side cpu=500m memory=1Gi"}));
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
  const AdmittingNode node = kep_node({.policy = TopologyPolicy::kNone});
  Bookings bookings = node.bookings();
  bookings.cpus.shared -= cpus("0-1");
  bookings.cpus.pods.set("a", "main", {.assigned = cpus("0-1")});
  const ResizeDecision decision =
      decide_resize(node.rules(), node.gates, bookings, one("a", 2), one("a", 4));
  EXPECT_EQ(decision.refusal->error, "getPromisedCPUSetError");
  EXPECT_EQ(text_of(decision),
            "Infeasible: getPromisedCPUSetError: no CPUs are on record as promised to container "
            "main of pod default/a: PodUID=a, ContainerName=main");
}

TEST(ResizeRefusals, KeepsTheQosClass) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kNone});
  admitted(node, one("a", 2));
  EXPECT_EQ(
      resized(node, pod_of("a", {"main cpu=2..3 memory=1Gi"})),
      "Infeasible: pod default/a: Pod QOS Class may not change as a result of resizing; it is "
      "Guaranteed and would be Burstable; container main: cpu request 2, limit 3");
}

TEST(ResizeRefusals, WantsWholeCores) {
  AdmittingNode node = resize_node(machine("2s3c2t"), {.full_pcpus_only = true}, "0");
  admitted(node, one("a", 2));
  EXPECT_EQ(resized(node, one("a", 3)),
            "Infeasible: container main of pod default/a: cannot grow from 2 CPUs (2-3) to 3, even "
            "if every other pod left: SMT Alignment Error: requested 3 cpus not multiple cpus per "
            "core = 2");
  EXPECT_EQ(resized(node, one("a", 4)), "main=2-5");
  EXPECT_EQ(
      resized(node, one("a", 3)),
      "Infeasible: container main of pod default/a: cannot shrink from 4 CPUs (2-5) to 3: SMT "
      "Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  // Core 0 has the reserved CPU 0, so ten CPUs are the most.
  EXPECT_EQ(resized(node, one("a", 10)), "main=2-11");
  EXPECT_THAT(resized(node, one("a", 12)),
              testing::HasSubstr("not enough free physical CPUs: available physical CPUs = 10"));
}

TEST(ResizeRefusals, LeavesTheSharedPoolItsCpus) {
  AdmittingNode node =
      resize_node(machine("2s3c2t"), {.strict_cpu_reservation = true, .min_shared_cpus = 2}, "0");
  admitted(node, one("a", 2));
  EXPECT_EQ(resized(node, one("a", 9)), "main=1-9");
  EXPECT_EQ(
      resized(node, one("a", 10)),
      "Infeasible: container main of pod default/a: cannot grow from 9 CPUs (1-9) to 10, even "
      "if every other pod left: not enough cpus available to satisfy request: it would leave "
      "1 CPUs in the shared pool, which keeps at least 2");
}

TEST(ResizeRefusals, PodLevelResourcesInitContainersAndGates) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kNone});
  admitted(node, pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=2 memory=1Gi"}));
  EXPECT_EQ(resized(node, pod_of("a", {"init:setup cpu=2 memory=1Gi", "main cpu=2 memory=1Gi"})),
            "Infeasible: container setup of pod default/a: init containers cannot be resized");
  Pod levelled = pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=4 memory=1Gi"});
  levelled.resources.emplace();
  levelled.resources->requests["cpu"] = Quantity::of(4);
  EXPECT_EQ(resized(node, levelled),
            "Infeasible: pod default/a: pods with pod-level resources cannot be resized");
  node.gates.in_place = false;
  EXPECT_EQ(resized(node, pod_of("a", {"init:setup cpu=1 memory=1Gi", "main cpu=4 memory=1Gi"})),
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
  EXPECT_EQ(admitted(node, one("a", 2)), "main=0-1 memory@0");
  EXPECT_EQ(resized(node, one("a", 4)), "main=0-3");
  EXPECT_EQ(resized(node, pod_of("a", {"main cpu=4 memory=2Gi"})),
            "Infeasible: container main of pod default/a: Resize is infeasible for Guaranteed Pods "
            "alongside Memory Manager policy \"Static\"; its memory has its place on NUMA nodes");
}

TEST(ResizeRefusals, ContainersWithoutCpusOnRecordCannotChange) {
  AdmittingNode node = kep_node({});
  admitted(node, two("a", 2, 2));
  Bookings bookings = node.bookings();
  apply(bookings.cpus, node.rules().policy.release(bookings.cpus, {"a", "c2"}));
  const auto answer = [&](int c1, int c2) {
    return text_of(
        decide_resize(node.rules(), node.gates, bookings, two("a", 2, 2), two("a", c1, c2)));
  };
  EXPECT_EQ(answer(2, 4),
            "Infeasible: getPromisedCPUSetError: no CPUs are on record as promised to container "
            "c2 of pod default/a: PodUID=a, ContainerName=c2");
  // It has ended: that does not keep the other from growing.
  EXPECT_EQ(answer(4, 2), "c1=6-9");
}

TEST(ResizeRefusals, AGateThatIsSwitchedOffInTheMiddleStopsTheRest) {
  AdmittingNode node = kep_node({});
  admitted(node, one("a", 2));
  resized(node, one("a", 6));
  node.begin_resize(one("a", 4));
  node.gates.exclusive_cpus = false;
  EXPECT_EQ(resized(node, one("a", 4)),
            "Infeasible: container main of pod default/a: its CPUs cannot change; feature gate "
            "InPlacePodVerticalScalingExclusiveCPUs is off");
}

TEST(ResizeRefusals, SaysHowManyTheNodeHas) {
  AdmittingNode node = kep_node({});
  admitted(node, one("a", 2));
  EXPECT_EQ(resized(node, one("a", 12)),
            "Infeasible: container main of pod default/a: cannot grow from 2 CPUs (6-7) to 12, "
            "even if every other pod left: not enough cpus available to satisfy request: "
            "requested=12, available=11");
  EXPECT_EQ(resized(node, one("a", 100'000)),
            "Infeasible: container main of pod default/a: cannot grow from 2 CPUs (6-7) to 100000, "
            "even if every other pod left: not enough cpus available to satisfy request: "
            "requested=100000, available=11");
}

// As many as a quantity can say: the message has the number that was asked for.
TEST(ResizeRefusals, SaysTheNumberThatWasAskedForHoweverLarge) {
  constexpr const char* kMost = "9000000000000000";  // even, unlike the largest of 32 bits
  const Pod wanted = pod_of("a", {fmt::format("main cpu={} memory=1Gi", kMost)});
  for (const StaticOptions& options : {StaticOptions{}, StaticOptions{.full_pcpus_only = true}}) {
    AdmittingNode node = kep_node({}, options);
    admitted(node, one("a", 2));
    EXPECT_EQ(resized(node, wanted),
              fmt::format("Infeasible: container main of pod default/a: cannot grow from 2 CPUs "
                          "(6-7) to {}, even if every other pod left: not enough cpus available to "
                          "satisfy request: requested={}, available={}",
                          kMost, kMost, options.full_pcpus_only ? 10 : 11));
  }
  for (const TopologyScope scope : {TopologyScope::kContainer, TopologyScope::kPod}) {
    AdmittingNode node = kep_node({.policy = TopologyPolicy::kSingleNumaNode, .scope = scope});
    admitted(node, one("a", 2));
    EXPECT_THAT(resized(node, wanted),
                testing::EndsWith(fmt::format("; cpu={} fits nowhere", kMost)));
  }
}

TEST(ResizeRefusals, SumsOfLargeNumbersDoNotOverflow) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kRestricted});
  admitted(node, two("a", 2, 2));
  EXPECT_THAT(resized(node, pod_of("a", {"c1 cpu=9000000000000000 memory=9223372036854775807",
                                         "c2 cpu=9000000000000000 memory=9223372036854775807"})),
              testing::AllOf(testing::StartsWith("Infeasible: container c1 of pod default/a: "),
                             testing::EndsWith("; cpu=9000000000000000 fits nowhere")));
}

TEST(ResizeRefusals, TheRestOfThePodStaysWhenOthersLeave) {
  AdmittingNode node = kep_node({.policy = TopologyPolicy::kRestricted});
  EXPECT_EQ(admitted(node, two("a", 2, 4)), "c1=0-1; c2=2-5");
  // c1 alone would fit on node 0, but c2 is there and does not leave.
  EXPECT_EQ(
      resized(node, two("a", 4, 4)),
      "Infeasible: container c1 of pod default/a: cannot grow from 2 CPUs (0-1) to 4, even if "
      "every other pod left: Resources cannot be allocated with Topology locality; policy "
      "restricted; cpu=4 needs 2 NUMA nodes now, with 0 where it has CPUs already, 1 on an "
      "idle machine");
}

TEST(ResizeDeferred, SaysWhatIsMissingAndWhoHoldsIt) {
  AdmittingNode node = kep_node({});
  admitted(node, one("a", 2));
  admitted(node, one("b", 3));
  admitted(node, one("c", 5));
  EXPECT_EQ(
      resized(node, one("a", 4)),
      "Deferred: container main of pod default/a: cannot grow from 2 CPUs (6-7) to 4 now: not "
      "enough cpus available to satisfy request: requested=4, available=3; free CPUs: 5; "
      "needs CPUs held by b main 8-10");
  const ResizeDecision larger = node.resize(one("a", 8));
  EXPECT_EQ(larger.verdict, ResizeVerdict::kDeferred);
  EXPECT_EQ(larger.refusal->container, "main");
  EXPECT_EQ(larger.refusal->error, "");
  EXPECT_EQ(larger.refusal->held_by, std::vector<std::string>{"c"});
  EXPECT_EQ(node.resize(one("a", 11)).refusal->held_by, (std::vector<std::string>{"b", "c"}));
}

TEST(ResizeDeferred, SaysThatCoresAreNotWhole) {
  AdmittingNode node = kep_node({}, {.full_pcpus_only = true});
  admitted(node, one("a", 2));
  admitted(node, one("b", 8));
  EXPECT_EQ(
      resized(node, one("a", 4)),
      "Deferred: container main of pod default/a: cannot grow from 2 CPUs (6-7) to 4 now: SMT "
      "Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested "
      "CPUs = 4, CPUs per core = 2; free CPUs: none; needs CPUs held by b main 0-5,8-9");
}

TEST(ResizeDeferred, SaysThatTheSharedPoolWouldBeTooSmall) {
  AdmittingNode node =
      resize_node(machine("2s3c2t"), {.strict_cpu_reservation = true, .min_shared_cpus = 3}, "11");
  admitted(node, one("a", 2));
  admitted(node, one("b", 5));
  EXPECT_EQ(
      resized(node, one("a", 4)),
      "Deferred: container main of pod default/a: cannot grow from 2 CPUs (6-7) to 4 now: not "
      "enough cpus available to satisfy request: it would leave 2 CPUs in the shared pool, "
      "which keeps at least 3; free CPUs: 2-5; needs CPUs held by b main 0-1,8-10");
}

TEST(ResizeDeferred, SaysThatThePodWouldNotStayTogether) {
  AdmittingNode node =
      kep_node({.policy = TopologyPolicy::kSingleNumaNode, .scope = TopologyScope::kPod});
  admitted(node, two("a", 1, 1));
  admitted(node, one("b", 3));
  EXPECT_EQ(
      resized(node, two("a", 2, 2)),
      "Deferred: pod default/a: cannot be resized now: Resources cannot be allocated with "
      "Topology locality; policy single-numa-node; cpu=4 needs 2 NUMA nodes now, with 0 where "
      "it has CPUs already, 1 on an idle machine; free CPUs: 5-10; needs CPUs held by b main "
      "2-4");
}

// Node 1 is free, so there are CPUs enough; that they must be on node 0 is the topology
// manager's word, with align-by-socket too.
TEST(ResizeDeferred, FindsHowManyMustLeaveWhereNumbersDoNotTell) {
  AdmittingNode node = resize_node(machine("2s16c"), {.align_by_socket = true}, "0",
                                   {.policy = TopologyPolicy::kRestricted});
  EXPECT_EQ(admitted(node, one("a", 1)), "main=1");
  for (int i = 0; i < 14; ++i) admitted(node, one(fmt::format("b{:02}", i), 1));
  ASSERT_EQ(node.bookings().cpus.shared, cpus("0,16-31"));
  for (int more = 1; more <= 14; ++more) {
    const auto decide = [&](const Bookings& bookings) {
      return decide_resize(node.rules(), node.gates, bookings, one("a", 1), one("a", 1 + more));
    };
    const ResizeDecision decision = decide(node.bookings());
    ASSERT_EQ(decision.verdict, ResizeVerdict::kDeferred) << more;
    const std::vector<std::string>& pods = decision.refusal->held_by;
    ASSERT_EQ(pods.size(), static_cast<std::size_t>(more));
    Bookings without = node.bookings();
    for (const std::string& pod : pods) {
      ASSERT_EQ(decide(without).verdict, ResizeVerdict::kDeferred);
      release(node.rules(), without, pod);
    }
    EXPECT_EQ(decide(without).verdict, ResizeVerdict::kAccepted);
  }
}

TEST(ResizeDeferred, NamesPodsAsTheRulesDoAndNotTooMany) {
  AdmittingNode node = resize_node(machine("1s14c"), {}, "0");
  admitted(node, one("a", 1));
  for (int i = 0; i < 12; ++i) admitted(node, one(fmt::format("b{:02}", i), 1));
  AdmissionRules rules = node.rules();
  rules.pod_name = [](const std::string& uid) { return "shop/" + uid; };
  const ResizeDecision decision =
      decide_resize(rules, node.gates, node.bookings(), one("a", 1), one("a", 11));
  ASSERT_TRUE(decision.refusal);
  EXPECT_EQ(decision.refusal->held_by.size(), 10U);
  EXPECT_THAT(decision.refusal->message,
              testing::EndsWith("; free CPUs: none; needs CPUs held by shop/b00 main 2, shop/b01 "
                                "main 3, shop/b02 main 4, shop/b03 main 5, shop/b04 main 6, "
                                "shop/b05 main 7, shop/b06 main 8, shop/b07 main 9 and 2 more"));
}

}  // namespace
}  // namespace corehold
