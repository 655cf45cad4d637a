// SPDX-License-Identifier: Apache-2.0
#include "policy/admission.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/admission_testing.h"
#include "policy/none_policy.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

// 2 NUMA nodes of 8 CPUs (0-7, 8-15), siblings are neighbours, CPU 0 reserved; 8 Gi each; NICs
// a and b near node 0, c near node 1.
AdmittingNode node_with(TopologyPolicy policy, TopologyScope scope = TopologyScope::kContainer) {
  NodeSetup setup{
      .config = {.reserved = cpus("0"), .reserved_count = 1},
      .topology = {.policy = policy, .scope = scope},
      .memory = {{NodeId(0), {{"memory", 8 * kGi}}}, {NodeId(1), {{"memory", 8 * kGi}}}},
      .devices = {{"example.com/nic",
                   {{.id = "a", .nodes = nodes("0")},
                    {.id = "b", .nodes = nodes("0")},
                    {.id = "c", .nodes = nodes("1")}}}}};
  auto node = AdmittingNode::make(machine("2s4c2t"), std::move(setup));
  CHECK(node.has_value());
  return *std::move(node);
}

std::string admit(AdmittingNode& node, std::string_view name,
                  const std::vector<std::string>& containers) {
  const Bookings before = node.bookings();
  const Decision decision = node.admit(pod_of(name, containers));
  EXPECT_EQ(node.problem(), "");
  EXPECT_TRUE(!decision.refusal || node.bookings() == before);
  return text_of(decision);
}

TEST(Admission, KeepsTheResourcesOfAContainerTogether) {
  AdmittingNode node = node_with(TopologyPolicy::kBestEffort);
  EXPECT_EQ(admit(node, "p", {"main cpu=4 memory=2Gi example.com/nic=2"}),
            "main=2-5 memory@0 example.com/nic=a,b");
  EXPECT_EQ(admit(node, "q", {"main cpu=4 memory=2Gi example.com/nic=1"}),
            "main=8-11 memory@1 example.com/nic=c");
}

TEST(Admission, WithoutATopologyPolicyEachResourceGoesItsOwnWay) {
  AdmittingNode node = node_with(TopologyPolicy::kNone);
  EXPECT_EQ(admit(node, "p", {"main cpu=8 memory=2Gi example.com/nic=1"}),
            "main=8-15 memory@0 example.com/nic=a");
}

TEST(Admission, RefusesWhatTheTopologyPolicyCannotMeet) {
  AdmittingNode node = node_with(TopologyPolicy::kSingleNumaNode);
  EXPECT_EQ(admit(node, "p", {"main cpu=4 memory=2Gi"}), "main=2-5 memory@0");
  EXPECT_EQ(admit(node, "q", {"main cpu=4 memory=2Gi example.com/nic=2"}),
            "TopologyAffinityError: container main of pod default/q: Resources cannot be "
            "allocated with Topology locality; policy single-numa-node; cpu=4 fits on one NUMA "
            "node: 1; memory=2147483648 fits on one NUMA node: 0-1; example.com/nic=2 fits on one "
            "NUMA node: 0; free CPUs: 1,6-15; held by p main 2-5");
}

TEST(Admission, SaysWhatWouldFitOnAnIdleMachine) {
  AdmittingNode node = node_with(TopologyPolicy::kRestricted);
  EXPECT_EQ(admit(node, "p", {"main cpu=4 memory=2Gi"}), "main=2-5 memory@0");
  EXPECT_EQ(admit(node, "q", {"main cpu=6 memory=1Gi"}), "main=8-13 memory@1");
  EXPECT_EQ(admit(node, "r", {"main cpu=4 memory=1Gi"}),
            "TopologyAffinityError: container main of pod default/r: Resources cannot be "
            "allocated with Topology locality; policy restricted; cpu=4 needs 2 NUMA nodes now, 1 "
            "on an idle machine; memory=1073741824 fits on one NUMA node: 0-1; free CPUs: "
            "1,6-7,14-15; held "
            "by p main 2-5, q main 8-13");
  EXPECT_EQ(admit(node, "r", {"main cpu=4 memory=1Gi example.com/nic=4"}).substr(0, 21),
            "TopologyAffinityError");
}

TEST(Admission, SaysWhoHoldsTheCpusThatAreMissing) {
  AdmittingNode node = node_with(TopologyPolicy::kNone);
  EXPECT_EQ(admit(node, "p", {"main cpu=8 memory=2Gi"}), "main=8-15 memory@0");
  EXPECT_EQ(admit(node, "q", {"main cpu=8 memory=2Gi"}),
            "OutOfcpu: container main of pod default/q: not enough cpus available to satisfy "
            "request: requested=8, available=7; free CPUs: 1-7; held by p main 8-15");
}

TEST(Admission, SaysWhereMemoryIsLeft) {
  AdmittingNode node = node_with(TopologyPolicy::kNone);
  EXPECT_EQ(admit(node, "p", {"main cpu=1 memory=6Gi"}), "main=1 memory@0");
  EXPECT_EQ(admit(node, "q", {"main cpu=1 memory=10Gi"}),
            "UnexpectedAdmissionError: container main of pod default/q: Allocate failed due to "
            "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
            "memory is available, which is unexpected; asked: memory 10737418240; free: memory "
            "2147483648 on NUMA node 0, memory 8589934592 on NUMA node 1; held by p main memory "
            "6442450944 on 0");
}

TEST(Admission, SaysWhoHoldsTheDevices) {
  AdmittingNode node = node_with(TopologyPolicy::kNone);
  EXPECT_EQ(admit(node, "p", {"main example.com/nic=2"}), "main=shared example.com/nic=a,b");
  EXPECT_EQ(admit(node, "q", {"main example.com/nic=2"}),
            "UnexpectedAdmissionError: container main of pod default/q: Allocate failed due to "
            "requested number of devices unavailable for example.com/nic. Requested: 2, "
            "Available: 1, which is unexpected; free: example.com/nic c; held by p main a b");
  EXPECT_EQ(admit(node, "q", {"main example.com/gpu=1"}),
            "UnexpectedAdmissionError: container main of pod default/q: Allocate failed due to "
            "cannot allocate unregistered device example.com/gpu; list the devices of this "
            "resource under devices in CoreholdConfiguration, which is unexpected");
}

TEST(Admission, IsAllOrNothing) {
  AdmittingNode node = node_with(TopologyPolicy::kBestEffort);
  const Bookings before = node.bookings();
  const Decision decision = node.admit(pod_of(
      "p", {"one cpu=2 memory=1Gi example.com/nic=1", "two cpu=2 memory=1Gi example.com/nic=5"}));
  ASSERT_TRUE(decision.refusal);
  EXPECT_EQ(decision.refusal->container, "two");
  EXPECT_EQ(decision.refusal->reason, "UnexpectedAdmissionError");
  EXPECT_EQ(decision.containers.size(), 2U);
  EXPECT_EQ(node.bookings(), before);
}

TEST(Admission, OfAPodThatIsInAlreadyChangesNothing) {
  for (const auto policy : {TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                            TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode}) {
    for (const auto scope : {TopologyScope::kContainer, TopologyScope::kPod}) {
      AdmittingNode node = node_with(policy, scope);
      const std::vector<std::string> containers{"main cpu=2 memory=1Gi example.com/nic=1",
                                                "side cpu=2 memory=1Gi"};
      const std::string first = admit(node, "p", containers);
      const Bookings before = node.bookings();
      EXPECT_EQ(admit(node, "p", containers), first);
      EXPECT_EQ(node.bookings(), before);
    }
  }
}

TEST(Admission, WithScopePodSettlesOnNodesForAllContainers) {
  AdmittingNode node = node_with(TopologyPolicy::kSingleNumaNode, TopologyScope::kPod);
  EXPECT_EQ(admit(node, "p", {"one cpu=4 memory=1Gi", "two cpu=4 memory=1Gi"}),
            "one=8-11 memory@1; two=12-15 memory@1");
  EXPECT_EQ(admit(node, "q", {"one cpu=4 memory=1Gi", "two cpu=4 memory=1Gi"}),
            "TopologyAffinityError: pod default/q: Resources cannot be allocated with Topology "
            "locality; policy single-numa-node; cpu=8 fits nowhere; memory=2147483648 fits on one "
            "NUMA node: 0-1; free CPUs: 1-7; held by p one 8-11, p two 12-15");
}

TEST(Admission, WithScopeContainerSettlesForEach) {
  AdmittingNode node = node_with(TopologyPolicy::kSingleNumaNode);
  EXPECT_EQ(admit(node, "p", {"one cpu=6 memory=1Gi", "two cpu=6 memory=1Gi"}),
            "one=2-7 memory@0; two=8-13 memory@1");
}

TEST(Admission, LetsContainersTakeOverFromInitContainers) {
  AdmittingNode node = node_with(TopologyPolicy::kSingleNumaNode);
  EXPECT_EQ(admit(node, "p",
                  {"init:setup cpu=6 memory=4Gi example.com/nic=1",
                   "main cpu=6 memory=6Gi example.com/nic=2"}),
            "setup=2-7 memory@0 example.com/nic=a; main=2-7 memory@0 example.com/nic=a,b");
  EXPECT_EQ(node.bookings().memory.nodes().at(NodeId(0)).free.at("memory"), 2 * kGi);
}

TEST(Admission, OfOtherClassesBooksDevicesOnly) {
  AdmittingNode node = node_with(TopologyPolicy::kRestricted);
  const Bookings before = node.bookings();
  EXPECT_EQ(admit(node, "p", {"main cpu=2..4 memory=99Gi.. example.com/nic=1"}),
            "main=shared example.com/nic=a");
  EXPECT_EQ(node.bookings().cpus, before.cpus);
  EXPECT_EQ(node.bookings().memory, before.memory);
  EXPECT_EQ(admit(node, "q", {"main"}), "main=shared");
}

TEST(Admission, ShowsHowEachChoiceCameAbout) {
  AdmittingNode node = node_with(TopologyPolicy::kBestEffort);
  const Decision decision = node.admit(pod_of("p", {"main cpu=4 memory=1Gi example.com/nic=2"}));
  EXPECT_EQ(decision.qos, QosClass::kGuaranteed);
  EXPECT_FALSE(decision.alignment);
  ASSERT_EQ(decision.containers.size(), 1U);
  const ContainerDecision& main = decision.containers.front();
  ASSERT_TRUE(main.alignment);
  ASSERT_EQ(main.alignment->hints.size(), 3U);
  EXPECT_EQ(main.alignment->hints[0].resource, "cpu");
  EXPECT_EQ(main.alignment->hints[1].resource, "memory");
  EXPECT_EQ(main.alignment->hints[2].resource, "example.com/nic");
  EXPECT_EQ(main.alignment->merged.hint, (Hint{.nodes = nodes("0"), .preferred = true}));
  EXPECT_EQ(main.affinity, nodes("0"));
  EXPECT_EQ(main.candidates, cpus("1-15"));
  EXPECT_EQ(main.near, cpus("1-7"));
  EXPECT_EQ(main.cpus_asked, 4);
}

TEST(Admission, UnderPolicyNoneGivesNoCpus) {
  const Topology topology = machine("2s4c2t");
  const NonePolicy policy;
  const AdmissionRules rules{.topology = topology,
                             .policy = policy,
                             .topology_options = {.policy = TopologyPolicy::kRestricted}};
  const auto state = policy.start({});
  ASSERT_TRUE(state);
  const Bookings before{.cpus = *state};
  Bookings bookings = before;
  const Decision decision = admit(rules, bookings, pod_of("p", {"main cpu=4 memory=1Gi"}));
  EXPECT_EQ(text_of(decision), "main=shared");
  EXPECT_EQ(bookings, before);
}

// CPUs 1 and 3 are free, but their cores are not: node 0 has 6 free CPUs and 4 to give.
AdmittingNode node_with_half_cores(TopologyPolicy policy, TopologyScope scope) {
  NodeSetup setup{.config = {.options = {.full_pcpus_only = true},
                             .reserved = cpus("0,2"),
                             .reserved_count = 2},
                  .topology = {.policy = policy, .scope = scope}};
  auto node = AdmittingNode::make(machine("2s4c2t"), std::move(setup));
  CHECK(node.has_value());
  return *std::move(node);
}

TEST(AdmissionOfWholeCores, FindsTheNodeThatHasThem) {
  for (const auto scope : {TopologyScope::kContainer, TopologyScope::kPod}) {
    AdmittingNode node = node_with_half_cores(TopologyPolicy::kSingleNumaNode, scope);
    EXPECT_EQ(admit(node, "p", {"main cpu=6 memory=1Gi"}), "main=8-13");
    EXPECT_EQ(admit(node, "q", {"main cpu=4 memory=1Gi"}), "main=4-7");
  }
}

TEST(AdmissionOfWholeCores, RefusesToLeaveTheNode) {
  for (const auto policy : {TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode}) {
    AdmittingNode node = node_with_half_cores(policy, TopologyScope::kContainer);
    EXPECT_EQ(admit(node, "p", {"main cpu=8 memory=1Gi"}), "main=8-15");
    EXPECT_EQ(admit(node, "q", {"main cpu=6 memory=1Gi"}),
              "SMTAlignmentError: container main of pod default/q: SMT Alignment Error: not enough "
              "free physical CPUs: available physical CPUs = 4, requested CPUs = 6, CPUs per core "
              "= 2; free CPUs: 4-7; held by p main 8-15");
    node.release("p");
    EXPECT_EQ(admit(node, "r", {"main cpu=6 memory=1Gi"}), "main=8-13");
    EXPECT_EQ(admit(node, "s", {"main cpu=6 memory=1Gi"}),
              fmt::format("TopologyAffinityError: container main of pod default/s: Resources "
                          "cannot be allocated with Topology locality; policy {}; cpu=6 needs 2 "
                          "NUMA nodes now, 1 on an idle machine; free CPUs: 4-7,14-15; held by r "
                          "main 8-13",
                          name_of(policy)));
  }
}

TEST(AdmissionRelease, RestoresWhatWasBefore) {
  AdmittingNode node = node_with(TopologyPolicy::kBestEffort);
  const Bookings before = node.bookings();
  admit(node, "p",
        {"init:setup cpu=6 memory=9Gi example.com/nic=1", "sidecar:proxy cpu=2 memory=1Gi",
         "main cpu=4 memory=2Gi example.com/nic=2"});
  admit(node, "q", {"main cpu=2 memory=1Gi example.com/nic=1"});
  node.release("p");
  EXPECT_EQ(node.problem(), "");
  node.release("nobody");
  node.release("q");
  EXPECT_EQ(node.bookings(), before);
}

}  // namespace
}  // namespace corehold
