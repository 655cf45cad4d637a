// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gtest/gtest.h>

#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

Config static_config(std::string_view reserved) {
  Config config;
  config.cpu_manager_policy = CpuManagerPolicy::kStatic;
  config.reserved_cpus = cpus(reserved);
  config.reserved_count = config.reserved_cpus.size();
  return config;
}

PlanReport report(const Topology& topology, const Config& config, const std::vector<Pod>& pods) {
  const auto node = NodeSetup::make(topology, config);
  if (!node) {
    ADD_FAILURE() << node.error().message;
    return {};
  }
  return plan(*node, pods);
}

// 0-7 and 8-15 are L3 caches of socket and NUMA node 0, 16-31 likewise of 1.
class PlanOnAServer : public testing::Test {
 protected:
  PlanReport planned(const std::vector<Pod>& pods) { return report(machine_, config_, pods); }
  PlannedRefusal refusal(const std::vector<Pod>& pods) {
    const PlanReport made = planned(pods);
    if (!made.pods.back().refusal) {
      ADD_FAILURE() << "admitted";
      return {};
    }
    return *made.pods.back().refusal;
  }

  Topology machine_ = machine("2s2l4c2t");
  Config config_ = static_config("0-1");
};

TEST_F(PlanOnAServer, AdmitsInOrderAndSaysWhatIsLeft) {
  const PlanReport made =
      planned({pod_of("a", {"main cpu=4 memory=1Gi"}), pod_of("b", {"main cpu=500m memory=1Gi"}),
               pod_of("c", {"main cpu=2 memory=1Gi"})});
  ASSERT_EQ(made.pods.size(), 3U);
  EXPECT_EQ(made.pods[0].containers[0].granted, cpus("2-5"));
  EXPECT_EQ(made.pods[1].containers[0].granted, CpuSet{});
  EXPECT_EQ(made.pods[1].containers[0].entitlement, "cpu 500m is not a whole number");
  EXPECT_EQ(made.pods[2].containers[0].granted, cpus("6-7"));
  EXPECT_EQ(made.pods[2].containers[0].fit.caches, (Spread{.touched = 1, .fewest = 1}));
  EXPECT_EQ(made.reserved, cpus("0-1"));
  EXPECT_EQ(made.shared, cpus("0-1,8-31"));
  EXPECT_EQ(made.free, cpus("8-31"));
  EXPECT_EQ(made.requested_milli, 6500);
  EXPECT_EQ(made.allocatable_milli, 30000);
}

TEST_F(PlanOnAServer, ARefusedPodLeavesNoTrace) {
  const PlanReport made = planned({pod_of("a", {"main cpu=20 memory=1Gi"}),
                                   pod_of("b", {"one cpu=4 memory=1Gi", "two cpu=12 memory=1Gi"}),
                                   pod_of("c", {"main cpu=8 memory=1Gi"})});
  ASSERT_TRUE(made.pods[1].refusal);
  EXPECT_EQ(made.pods[1].refusal->container, "two");
  EXPECT_FALSE(made.pods[2].refusal);
  EXPECT_EQ(made.free.size(), 2);
}

TEST_F(PlanOnAServer, InitContainersAreDoneWhenTheNextPodComes) {
  const PlanReport made =
      planned({pod_of("a", {"init:setup cpu=8 memory=1Gi", "main cpu=2 memory=1Gi"}),
               pod_of("b", {"main cpu=28 memory=1Gi"})});
  EXPECT_EQ(made.pods[0].containers[0].granted.size(), 8);
  EXPECT_TRUE(made.pods[0].containers[1].granted.is_subset_of(made.pods[0].containers[0].granted));
  EXPECT_FALSE(made.pods[1].refusal);
  EXPECT_EQ(owners(made).size(), 2U);
}

TEST_F(PlanOnAServer, SaysWhoHasTheCpusThatAreMissing) {
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=24 memory=1Gi"}), pod_of("b", {"main cpu=10 memory=1Gi"})});
  EXPECT_EQ(told.reason, "OutOfcpu");
  EXPECT_EQ(told.text, "not enough cpus available to satisfy request: requested=10, available=6");
  EXPECT_EQ(told.rule, "cpuManagerPolicy static: only CPUs that nobody holds and nobody reserved");
  EXPECT_EQ(told.missing, "10 CPUs asked for, 6 free, 4 missing");
  EXPECT_TRUE(told.fits_empty);
  ASSERT_EQ(told.holders.size(), 1U);
  EXPECT_EQ(told.holders[0].pod, "default/a");
  EXPECT_EQ(told.holders[0].container, "main");
}

TEST_F(PlanOnAServer, SaysWhatThePodItselfWouldHaveHeld) {
  PlannedRefusal told = refusal({pod_of("q", {"a cpu=20 memory=1Gi", "b cpu=15 memory=1Gi"})});
  EXPECT_EQ(told.container, "b");
  EXPECT_EQ(told.missing, "15 CPUs asked for, 10 free, 5 missing");
  ASSERT_EQ(told.holders.size(), 1U);
  EXPECT_EQ(told.holders[0].pod, "default/q");
  EXPECT_EQ(told.holders[0].container, "a");
  told = refusal(
      {pod_of("p", {"main cpu=2 memory=1Gi"}),
       pod_of("q", {"init:i cpu=4 memory=1Gi", "a cpu=18 memory=1Gi", "b cpu=12 memory=1Gi"})});
  EXPECT_EQ(told.missing, "12 CPUs asked for, 10 free, 2 missing");
  ASSERT_EQ(told.holders.size(), 2U) << "what init containers had is free again";
  EXPECT_EQ(told.holders[0].pod, "default/p");
  EXPECT_EQ(told.holders[1].container, "a");
}

TEST_F(PlanOnAServer, NamesNobodyWhoseLeavingWouldNotHelp) {
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=4 memory=1Gi"}), pod_of("b", {"main cpu=31 memory=1Gi"})});
  EXPECT_FALSE(told.fits_empty);
  EXPECT_TRUE(told.holders.empty());
}

TEST_F(PlanOnAServer, SaysThatInitContainersForceNodes) {
  config_.topology.policy = TopologyPolicy::kRestricted;
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=2 memory=1Gi"}),
               pod_of("b", {"init:big cpu=20 memory=1Gi", "main cpu=8 memory=1Gi"})});
  EXPECT_EQ(told.container, "main");
  EXPECT_EQ(told.missing,
            "8 CPUs must be had in NUMA 0-1, where init containers of the pod left CPUs 4-7,16-31; "
            "on an idle machine 1 NUMA node would do");
  EXPECT_TRUE(told.holders.empty());
  EXPECT_NE(told.message.find("with 0-1 where init containers of the pod left some"),
            std::string::npos)
      << told.message;
}

TEST_F(PlanOnAServer, SaysWhatEachResourcePrefers) {
  config_.topology.policy = TopologyPolicy::kRestricted;
  config_.memory_manager_policy = MemoryManagerPolicy::kStatic;
  config_.memory =
      MemoryInventory{{NodeId(0), {{"memory", 8LL << 30}}}, {NodeId(1), {{"memory", 8LL << 30}}}};
  PlannedRefusal told = refusal({pod_of("a", {"main cpu=2 memory=12Gi"})});
  EXPECT_EQ(told.missing, "cpu prefers 1 NUMA node, memory 2");
  EXPECT_EQ(told.rule,
            "topologyManagerPolicy restricted: refused unless all resources prefer the same nodes, "
            "for each container");
  config_.devices = {{"example.com/nic", {{.id = "nic-0", .nodes = {NodeId(0)}}}}};
  config_.memory_manager_policy = MemoryManagerPolicy::kNone;
  config_.topology.policy = TopologyPolicy::kSingleNumaNode;
  told = refusal({pod_of("a", {"main cpu=14 memory=1Gi"}),
                  pod_of("b", {"main cpu=2 memory=1Gi example.com/nic=1"})});
  EXPECT_EQ(told.missing, "cpu prefers NUMA 1, example.com/nic NUMA 0");
  EXPECT_EQ(told.holders.size(), 1U);
}

TEST_F(PlanOnAServer, SaysWhereMemoryIsFreeButNotTogether) {
  config_.memory_manager_policy = MemoryManagerPolicy::kStatic;
  config_.memory =
      MemoryInventory{{NodeId(0), {{"memory", 8LL << 30}}}, {NodeId(1), {{"memory", 8LL << 30}}}};
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=2 memory=6Gi"}), pod_of("b", {"main cpu=2 memory=9Gi"})});
  EXPECT_EQ(told.missing,
            "memory: 9Gi asked for, free: 2Gi in NUMA 0, 8Gi in NUMA 1; not on nodes that may "
            "serve it together");
}

TEST_F(PlanOnAServer, SaysWhatMustStayShared) {
  config_.static_options.strict_cpu_reservation = true;
  config_.static_options.min_shared_cpus = 4;
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=8 memory=1Gi"}), pod_of("b", {"main cpu=20 memory=1Gi"})});
  EXPECT_EQ(told.rule, "minSharedCPUs 4: so many stay in the shared pool");
  EXPECT_EQ(told.missing, "20 CPUs asked for, 22 free, of which 4 must stay shared, 2 missing");
}

TEST_F(PlanOnAServer, SaysWhatWouldNeverFit) {
  const PlannedRefusal told = refusal({pod_of("a", {"main cpu=31 memory=1Gi"})});
  EXPECT_FALSE(told.fits_empty);
  EXPECT_EQ(told.missing, "31 CPUs asked for, 30 free, 1 missing");
  EXPECT_TRUE(told.holders.empty());
}

TEST_F(PlanOnAServer, SaysWhichNumbersWouldBeWholeCores) {
  config_.static_options.full_pcpus_only = true;
  PlannedRefusal told = refusal({pod_of("a", {"main cpu=3 memory=1Gi"})});
  EXPECT_EQ(told.reason, "SMTAlignmentError");
  EXPECT_EQ(told.rule, "full-pcpus-only: whole cores or nothing");
  EXPECT_EQ(told.missing, "3 CPUs asked for, in cores of 2; 2 or 4 would be whole");
  told = refusal({pod_of("a", {"main cpu=1 memory=1Gi"})});
  EXPECT_EQ(told.missing, "1 CPU asked for, in cores of 2; 2 would be whole");
  told = refusal({pod_of("a", {"main cpu=32 memory=1Gi"})});
  EXPECT_EQ(told.missing, "32 CPUs asked for, 30 free in whole cores, 2 missing");
}

TEST_F(PlanOnAServer, SaysWhatEachNumaNodeHasLeft) {
  config_.topology.policy = TopologyPolicy::kSingleNumaNode;
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=10 memory=1Gi"}), pod_of("b", {"main cpu=10 memory=1Gi"}),
               pod_of("c", {"main cpu=8 memory=1Gi"})});
  EXPECT_EQ(told.reason, "TopologyAffinityError");
  EXPECT_EQ(told.text, "Resources cannot be allocated with Topology locality");
  EXPECT_EQ(told.rule,
            "topologyManagerPolicy single-numa-node: everything from one NUMA node, for each "
            "container");
  EXPECT_EQ(told.missing, "8 CPUs asked for, free: 4 in NUMA 0, 6 in NUMA 1; 2 missing");
  EXPECT_EQ(told.holders.size(), 2U);
}

TEST_F(PlanOnAServer, RestrictedSaysHowManyNodesItWouldTake) {
  config_.topology.policy = TopologyPolicy::kRestricted;
  config_.topology.scope = TopologyScope::kPod;
  const PlannedRefusal told =
      refusal({pod_of("a", {"main cpu=10 memory=1Gi"}), pod_of("b", {"main cpu=10 memory=1Gi"}),
               pod_of("c", {"main cpu=8 memory=1Gi"})});
  EXPECT_EQ(told.missing,
            "8 CPUs asked for, free: 4 in NUMA 0, 6 in NUMA 1; cpu needs 2 NUMA nodes now, 1 on "
            "an idle machine");
}

TEST_F(PlanOnAServer, NamesMissingDevicesAndTheirHolders) {
  config_.devices = {{"example.com/nic", {{.id = "nic-0", .nodes = {NodeId(0)}}}}};
  PlannedRefusal told = refusal({pod_of("a", {"main cpu=2 memory=1Gi example.com/nic=1"}),
                                 pod_of("b", {"main cpu=2 memory=1Gi example.com/nic=1"})});
  EXPECT_EQ(told.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(told.missing, "example.com/nic: 1 asked for, 0 free, 1 missing");
  EXPECT_EQ(told.holders, (std::vector<Holder>{{"default/a", "main", "example.com/nic", "nic-0"}}));
  told = refusal({pod_of("a", {"main cpu=2 memory=1Gi example.com/gpu=2"})});
  EXPECT_EQ(told.rule,
            "devices: example.com/gpu is not in the inventory; list it under devices in "
            "CoreholdConfiguration");
  EXPECT_EQ(told.missing, "example.com/gpu: 2 asked for, none in the inventory");
}

TEST_F(PlanOnAServer, ListsOnlyTheMemoryThatIsMissing) {
  config_.memory_manager_policy = MemoryManagerPolicy::kStatic;
  const NodeMemory both{{"memory", 8LL << 30}, {"hugepages-1Gi", 4LL << 30}};
  config_.memory = MemoryInventory{{NodeId(0), both}, {NodeId(1), both}};
  const PlannedRefusal told = refusal({pod_of("a", {"main cpu=2 memory=20Gi hugepages-1Gi=2Gi"})});
  EXPECT_EQ(told.missing,
            "memory: 20Gi asked for, free: 8Gi in NUMA 0, 8Gi in NUMA 1; 4Gi missing");
}

TEST_F(PlanOnAServer, MemoryIsCountedWhereTheConfigurationSaysSo) {
  config_.memory_manager_policy = MemoryManagerPolicy::kStatic;
  config_.memory =
      MemoryInventory{{NodeId(0), {{"memory", 8LL << 30}}}, {NodeId(1), {{"memory", 8LL << 30}}}};
  const PlanReport made =
      planned({pod_of("a", {"main cpu=2 memory=6Gi"}), pod_of("b", {"main cpu=2 memory=20Gi"})});
  EXPECT_EQ(made.pods[0].containers[0].memory, (NodeMemory{{"memory", 6LL << 30}}));
  ASSERT_TRUE(made.pods[1].refusal);
  EXPECT_EQ(made.pods[1].refusal->missing,
            "memory: 20Gi asked for, free: 2Gi in NUMA 0, 8Gi in NUMA 1; 10Gi missing");
}

TEST_F(PlanOnAServer, RequestsBeyondCountingAreJustMany) {
  const PlanReport made = planned(
      {pod_of("a", {"main cpu=9000000000000000.."}), pod_of("b", {"main cpu=9000000000000000.."})});
  EXPECT_GT(made.requested_milli, 9'000'000'000'000'000'000);
}

TEST_F(PlanOnAServer, PolicyNoneGivesNothing) {
  config_ = Config{};
  const PlanReport made = planned({pod_of("a", {"main cpu=2 memory=1Gi"})});
  EXPECT_EQ(made.pods[0].containers[0].entitlement, "policy none gives nobody exclusive CPUs");
  EXPECT_EQ(made.shared, machine_.cpus());
  EXPECT_EQ(made.free, CpuSet{});
}

TEST_F(PlanOnAServer, KeepsTheHintsForTheExplanation) {
  config_.topology.policy = TopologyPolicy::kBestEffort;
  const PlanReport made = planned({pod_of("a", {"main cpu=4 memory=1Gi"})});
  const PlannedContainer& container = made.pods[0].containers[0];
  ASSERT_TRUE(container.alignment);
  ASSERT_EQ(container.alignment->resources.size(), 1U);
  EXPECT_EQ(container.alignment->resources[0].count, 3U);
  EXPECT_EQ(container.affinity, (NodeSet{NodeId(0)}));
  EXPECT_EQ(container.candidates, cpus("2-31"));
  EXPECT_EQ(container.near, cpus("2-15"));
}

// The pod with other amounts: "main cpu=4 memory=1Gi".
class PlannedResizes : public PlanOnAServer {
 protected:
  PlannedResizes() { config_.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, true); }

  PlanReport resized(const std::vector<Pod>& pods, const std::vector<Pod>& wanted) {
    const auto node = NodeSetup::make(machine_, config_);
    if (!node) {
      ADD_FAILURE() << node.error().message;
      return {};
    }
    return plan(*node, pods, wanted);
  }
};

TEST_F(PlannedResizes, GrowsAroundWhatWasPromisedAndIsInTheReport) {
  const PlanReport made =
      resized({pod_of("a", {"main cpu=2 memory=1Gi"}), pod_of("b", {"main cpu=2 memory=1Gi"})},
              {pod_of("a", {"main cpu=4 memory=1Gi"})});
  ASSERT_EQ(made.resizes.size(), 1U);
  const PlannedResize& resize = made.resizes[0];
  EXPECT_EQ(resize.pod, "default/a");
  EXPECT_EQ(resize.verdict, ResizeVerdict::kAccepted);
  ASSERT_EQ(resize.containers.size(), 1U);
  const ResizedContainer& main = resize.containers[0];
  EXPECT_EQ(main.cpu_before, "2");
  EXPECT_EQ(main.cpu_after, "4");
  EXPECT_EQ(main.before, cpus("2-3"));
  EXPECT_EQ(main.after, cpus("2-3,6-7"));
  EXPECT_EQ(main.promised, cpus("2-3"));
  EXPECT_EQ(main.kept(), cpus("2-3"));
  EXPECT_EQ(main.added(), cpus("6-7"));
  EXPECT_EQ(main.given_up(), CpuSet{});
  EXPECT_EQ(made.pods[0].containers[0].granted, cpus("2-3,6-7"));
  EXPECT_EQ(made.pods[0].containers[0].promised, cpus("2-3"));
  EXPECT_EQ(made.pods[0].containers[0].cpus_asked, 4);
  EXPECT_EQ(made.shared, cpus("0-1,8-31"));
  EXPECT_EQ(made.requested_milli, 6000);
}

TEST_F(PlannedResizes, OnePodAfterTheOther) {
  const PlanReport made =
      resized({pod_of("a", {"main cpu=2 memory=1Gi"})},
              {pod_of("a", {"main cpu=6 memory=1Gi"}), pod_of("a", {"main cpu=4 memory=1Gi"}),
               pod_of("a", {"main cpu=1 memory=1Gi"})});
  ASSERT_EQ(made.resizes.size(), 3U);
  EXPECT_EQ(made.resizes[1].containers[0].before, cpus("2-7"));
  EXPECT_EQ(made.resizes[1].containers[0].given_up().size(), 2);
  EXPECT_EQ(made.resizes[2].verdict, ResizeVerdict::kInfeasible);
  EXPECT_EQ(made.resizes[2].refusal->error, "prohibitedCPUAllocationError");
  EXPECT_EQ(made.pods[0].containers[0].granted, made.resizes[1].containers[0].after);
  EXPECT_EQ(made.free.size(), 26);
}

TEST_F(PlannedResizes, DeferredNamesWhoWouldHaveToLeaveAndLeavesNoTrace) {
  const PlanReport made =
      resized({pod_of("a", {"main cpu=2 memory=1Gi"}), pod_of("b", {"main cpu=20 memory=1Gi"}),
               pod_of("c", {"main cpu=2 memory=1Gi"})},
              {pod_of("a", {"main cpu=12 memory=1Gi"})});
  const PlannedResize& resize = made.resizes[0];
  EXPECT_EQ(resize.verdict, ResizeVerdict::kDeferred);
  ASSERT_TRUE(resize.refusal);
  EXPECT_NE(resize.refusal->message.find("default/b"), std::string::npos);
  ASSERT_EQ(resize.leave.size(), 1U);
  EXPECT_EQ(resize.leave[0].pod, "default/b");
  EXPECT_EQ(resize.leave[0].container, "main");
  EXPECT_EQ(resize.containers[0].after, resize.containers[0].before);
  EXPECT_EQ(made.pods[0].containers[0].granted.size(), 2);
  EXPECT_EQ(made.requested_milli, 24000);
}

TEST_F(PlannedResizes, ContainersOfAPodSwapCpus) {
  const PlanReport made = resized({pod_of("a", {"one cpu=2 memory=1Gi", "two cpu=2 memory=1Gi"}),
                                   pod_of("b", {"main cpu=24 memory=1Gi"})},
                                  {pod_of("a", {"one cpu=4 memory=1Gi", "two cpu=2 memory=1Gi"}),
                                   pod_of("a", {"one cpu=2 memory=1Gi", "two cpu=4 memory=1Gi"})});
  ASSERT_EQ(made.resizes[1].verdict, ResizeVerdict::kAccepted);
  ASSERT_EQ(made.resizes[1].containers.size(), 2U);
  const ResizedContainer& one = made.resizes[1].containers[0];
  const ResizedContainer& two = made.resizes[1].containers[1];
  EXPECT_EQ(two.waits_for, (std::map<std::string, CpuSet>{{"one", one.given_up()}}));
  EXPECT_EQ(two.added(), one.given_up());
  EXPECT_EQ(made.pods[0].containers[1].granted, two.after);
  EXPECT_EQ(made.free, CpuSet{});
}

TEST_F(PlannedResizes, TheGateAndAdmissionComeFirst) {
  config_.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, false);
  const PlanReport made =
      resized({pod_of("a", {"main cpu=2 memory=1Gi"}), pod_of("b", {"main cpu=31 memory=1Gi"})},
              {pod_of("a", {"main cpu=4 memory=1Gi"}), pod_of("b", {"main cpu=4 memory=1Gi"})});
  EXPECT_EQ(made.resizes[0].verdict, ResizeVerdict::kInfeasible);
  EXPECT_NE(made.resizes[0].refusal->message.find("InPlacePodVerticalScalingExclusiveCPUs is off"),
            std::string::npos);
  EXPECT_EQ(made.resizes[1].verdict, ResizeVerdict::kInfeasible);
  EXPECT_EQ(made.resizes[1].refusal->message, "pod default/b is not admitted: OutOfcpu");
}

TEST(PlanOnALargeMachine, ManyHintsAreSummarized) {
  const Topology machine = corehold::machine("16s4c1t");
  Config config = static_config("0");
  config.topology.policy = TopologyPolicy::kBestEffort;
  config.topology.max_numa_nodes = 16;
  const PlanReport made = report(machine, config, {pod_of("a", {"main cpu=4 memory=1Gi"})});
  const HintsShown& shown = made.pods[0].containers[0].alignment->resources[0];
  EXPECT_EQ(shown.hints.size(), 16U);
  EXPECT_TRUE(shown.at_least);
  EXPECT_TRUE(shown.hints.front().preferred);
}

TEST(PlanningDefaults, ReserveTheFirstCore) {
  const Config config = planning_defaults(machine("1s2c2t", Numbering::kThreadsFar));
  EXPECT_EQ(config.reserved_cpus, cpus("0,2"));
  EXPECT_EQ(config.cpu_manager_policy, CpuManagerPolicy::kStatic);
}

}  // namespace
}  // namespace corehold
