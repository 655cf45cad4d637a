// SPDX-License-Identifier: Apache-2.0
#include "policy/static_policy.h"

#include <gtest/gtest.h>

#include "policy/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

TEST(StaticPolicyStart, GivesAllCpusToTheSharedPool) {
  Node node(machine("1s4c2t"), {.reserved_count = 2});
  EXPECT_EQ(node.policy().reserved(), cpus("0-1"));
  EXPECT_EQ(node.state().shared, cpus("0-7"));
}

TEST(StaticPolicyStart, KeepsStrictlyReservedCpusOutOfThePool) {
  Node node(
      machine("1s4c2t"),
      {.options = {.strict_cpu_reservation = true}, .reserved = cpus("0,4"), .reserved_count = 2});
  EXPECT_EQ(node.state().shared, cpus("1-3,5-7"));
  EXPECT_EQ(node.policy().reserved_cores(), cpus("0-1,4-5"));
}

TEST(StaticPolicyStart, RefusesAReservationTheMachineCannotMeet) {
  const Topology small = machine("1s2c2t");
  const auto too_many = StaticPolicy::make(small, {.reserved_count = 5});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(
      too_many.error().message,
      "[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 5)");
  const auto unknown = StaticPolicy::make(small, {.reserved = cpus("9"), .reserved_count = 1});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "[cpumanager] unable to build the reserved physical CPUs from the reserved set: "
            "unknown CPU ID: 9");
}

TEST(StaticPolicyStart, NamesWhatContradictsTheState) {
  const Topology eight = machine("1s4c2t");
  const auto policy = StaticPolicy::make(eight, {.reserved = cpus("0"), .reserved_count = 1});
  ASSERT_TRUE(policy);
  const auto error = [&](State state) {
    const auto started = policy->start(std::move(state));
    return started ? "" : started.error().message;
  };
  State held{.shared = cpus("0-5")};
  held.pods.set("p", "c", Holding{.assigned = cpus("6-7"), .promised = cpus("6-7")});
  EXPECT_EQ(error(held), "");

  State empty = held;
  empty.shared = {};
  EXPECT_EQ(error(empty), "default cpuset cannot be empty");
  State without_reserved = held;
  without_reserved.shared = cpus("1-5");
  EXPECT_EQ(error(without_reserved),
            R"(not all reserved cpus: "0" are present in defaultCpuSet: "1-5")");
  State overlapping = held;
  overlapping.shared = cpus("0-6");
  EXPECT_EQ(error(overlapping),
            R"(pod: p, container: c cpuset: "6-7" overlaps with default cpuset "0-6")");
  State shrunk = held;
  shrunk.shared = cpus("0-4");
  EXPECT_EQ(error(shrunk),
            R"(current set of available CPUs "0-7" doesn't match with CPUs in state "0-4,6-7")");
}

TEST(StaticPolicyCheckStart, IsStricterThanAKubelet) {
  const Topology eight = machine("1s4c2t");
  const auto nothing_reserved = StaticPolicy::make(eight, {});
  ASSERT_TRUE(nothing_reserved);
  EXPECT_EQ(nothing_reserved->check_start({.shared = cpus("0-7")}).error().message,
            "policy static needs at least one reserved CPU; set reservedSystemCPUs, kubeReserved "
            "or systemReserved");
  const auto policy = StaticPolicy::make(eight, {.reserved_count = 1});
  ASSERT_TRUE(policy);
  State twice{.shared = cpus("0-5")};
  twice.pods.set("p", "c", Holding{.assigned = cpus("6-7"), .promised = cpus("6-7")});
  EXPECT_TRUE(policy->check_start(twice));
  twice.pods.set("q", "c", Holding{.assigned = cpus("7"), .promised = cpus("7")});
  EXPECT_EQ(policy->check_start(twice).error().message,
            "CPUs 7 of pod q belong to somebody else too");
}

// CPUs 0-7 are socket 0, 8-15 socket 1; siblings are neighbours (0-1, 2-3, ...).
class StaticPolicyFullCores : public testing::Test {
 protected:
  Node node_{machine("2s4c2t"),
             {.options = {.full_pcpus_only = true}, .reserved = cpus("0-1"), .reserved_count = 2}};
};

TEST_F(StaticPolicyFullCores, TakesWholeCoresFromTheBusierSocket) {
  EXPECT_EQ(node_.ask("pg-0/main", 4), "2-5");
}

TEST_F(StaticPolicyFullCores, RefusesAnOddRequestEvenWhenCpusAreFree) {
  EXPECT_EQ(node_.ask("pg-0/main", 3),
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_EQ(node_.last_code(), Code::kUnaligned);
}

TEST_F(StaticPolicyFullCores, SaysWhenWholeCoresRunOut) {
  EXPECT_EQ(node_.ask("pg-0/main", 16),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 14, "
            "requested CPUs = 16, CPUs per core = 2");
}

TEST(StaticPolicyFullCoresSplit, NeverSharesACoreWithAReservedCpu) {
  // A kubelet counts CPU 1, sibling of the reserved CPU 0, as free and would give it.
  Node node(machine("1s4c2t"),
            {.options = {.full_pcpus_only = true}, .reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 2), "2-3");
  EXPECT_EQ(node.ask("b/c", 4), "4-7");
  EXPECT_EQ(node.ask("c/c", 2),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 0, "
            "requested CPUs = 2, CPUs per core = 2");
}

TEST(StaticPolicyFullCoresSplit, SaysWhichCoresDoNotAddUp) {
  Node node(without(machine("1s4c2t"), cpus("3")),
            {.options = {.full_pcpus_only = true}, .reserved = cpus("0-2"), .reserved_count = 3});
  EXPECT_EQ(
      node.ask("a/c", 1),
      "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 4, "
      "requested CPUs = 1, CPUs per core = 2; the whole cores in 4-7 do not add up to 1 CPUs");
}

TEST(StaticPolicyFullCoresSplit, MakesAnOddRequestOfCoresOfDifferentSize) {
  Node node(without(machine("1s4c2t"), cpus("3")),
            {.options = {.full_pcpus_only = true}, .reserved = cpus("0-1"), .reserved_count = 2});
  EXPECT_EQ(node.ask("a/c", 3), "2,4-5");
}

TEST(StaticPolicyShared, IsNeverEmptied) {
  Node node(
      machine("1s4c"),
      {.options = {.strict_cpu_reservation = true}, .reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 3),
            "not enough cpus available to satisfy request: it would leave 0 CPUs in the shared "
            "pool, which keeps at least 1");
  EXPECT_EQ(node.ask("a/c", 2), "1-2");
}

TEST(StaticPolicyShared, KeepsTheConfiguredMinimum) {
  Node node(machine("1s8c"), {.options = {.strict_cpu_reservation = true, .min_shared_cpus = 3},
                              .reserved = cpus("0"),
                              .reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 5),
            "not enough cpus available to satisfy request: it would leave 2 CPUs in the shared "
            "pool, which keeps at least 3");
  EXPECT_EQ(node.ask("a/c", 4), "1-4");
}

TEST(StaticPolicyAffinity, TakesFromTheChosenNodesFirst) {
  Node node(machine("2s4c2t"), {.reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 4, NodeSet{NodeId(1)}), "8-11");
  EXPECT_EQ(node.ask("b/c", 6, NodeSet{NodeId(1)}), "2-3,12-15");
}

TEST(StaticPolicyAffinity, WidensToTheSocketWhenAligningBySocket) {
  Node node(machine("2s2n2c2t"),
            {.options = {.align_by_socket = true}, .reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 6, NodeSet{NodeId(2)}), "8-13");
}

// CPUs 4-7 are nohz_full and 7 is isolated as well; a container of a pod that asks for a partition.
class StaticPolicyQuiet : public testing::Test {
 protected:
  static Topology quiet_machine() {
    const Topology plain = machine("1s4c2t");
    TopologyParts parts{.places = plain.places()};
    parts.isolated = cpus("7");
    parts.nohz_full = cpus("4-6");
    return *Topology::make(std::move(parts));
  }

  std::string granted(int count, const std::optional<NodeSet>& affinity = std::nullopt) {
    Request request{.container = {.pod = "p", .container = "c"}, .cpus = count};
    request.affinity = affinity;
    request.partition = CpuPartition::kIsolated;
    const auto plan = policy_.allocate({.shared = cpus("0-7")}, request);
    return plan ? plan->granted.str() : plan.error().message;
  }

  Topology topology_ = quiet_machine();
  StaticPolicy policy_ =
      *StaticPolicy::make(topology_, {.reserved = cpus("0"), .reserved_count = 1});
};

TEST_F(StaticPolicyQuiet, PrefersCpusThatTheCommandLineMadeQuiet) {
  EXPECT_EQ(topology_.quiet(), cpus("4-7"));
  EXPECT_EQ(granted(2), "4-5");
  EXPECT_EQ(granted(4, nodes("0")), "4-7");
}

TEST_F(StaticPolicyQuiet, TakesOthersWhereThoseDoNotSuffice) {
  EXPECT_EQ(granted(6), "2-7");
  EXPECT_EQ(granted(1, nodes("1")), "1");
}

TEST_F(StaticPolicyQuiet, IsNothingToPodsThatDoNotAsk) {
  Node node(quiet_machine(), {.reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(node.ask("p/c", 2), "2-3");
}

TEST(StaticPolicyRepeat, AskingAgainChangesNothing) {
  Node node(machine("1s4c2t"), {.reserved_count = 1});
  EXPECT_EQ(node.ask("a/c", 2), "2-3");
  const State before = node.state();
  EXPECT_EQ(node.ask("a/c", 2), "2-3");
  EXPECT_EQ(node.state().shared, before.shared);
  EXPECT_EQ(node.state().pods, before.pods);
}

TEST(StaticPolicyRelease, OfAnUnknownContainerIsHarmless) {
  Node node(machine("1s4c2t"), {.reserved_count = 1});
  const State before = node.state();
  node.release("nobody/c");
  EXPECT_EQ(node.state(), before);
}

TEST(StaticPolicyRelease, KeepsCpusThatAnotherPodHoldsToo) {
  // Only a damaged checkpoint has such a state; releasing must not make it worse.
  const Topology eight = machine("1s8c");
  const auto policy = StaticPolicy::make(eight, {.reserved_count = 1});
  ASSERT_TRUE(policy);
  State state{.shared = cpus("0-5")};
  state.pods.set("p", "c", Holding{.assigned = cpus("6-7"), .promised = cpus("6-7")});
  state.pods.set("q", "c", Holding{.assigned = cpus("7"), .promised = cpus("7")});
  apply(state, policy->release(state, {"p", "c"}));
  EXPECT_EQ(state.shared, cpus("0-6"));
}

TEST(StaticPolicyInit, LeavesItsCpusToLaterContainersOfThePod) {
  Node node(machine("1s8c"), {.reserved_count = 1});
  EXPECT_EQ(node.ask("a/init", 4, {}, Container::Kind::kInit), "1-4");
  EXPECT_EQ(node.ask("a/main", 3), "1-3");
  EXPECT_EQ(node.state().shared, cpus("0,5-7"));
  node.release("a/init");
  EXPECT_EQ(node.state().shared, cpus("0,4-7"));
  node.release("a/main");
  EXPECT_EQ(node.state().shared, cpus("0-7"));
}

TEST(StaticPolicyInit, ASidecarKeepsItsCpus) {
  Node node(machine("1s8c"), {.reserved_count = 1});
  EXPECT_EQ(node.ask("a/log", 2, {}, Container::Kind::kSidecar), "1-2");
  EXPECT_EQ(node.ask("a/main", 2), "3-4");
}

TEST(StaticPolicyInit, NeverReusesWhatAnotherPodHasTakenMeanwhile) {
  Node node(machine("1s8c"), {.reserved_count = 1});
  EXPECT_EQ(node.ask("a/init", 4, {}, Container::Kind::kInit), "1-4");
  node.release("a/init");
  EXPECT_EQ(node.ask("b/main", 4), "1-4");
  EXPECT_EQ(node.ask("a/main", 3), "5-7");
}

TEST(StaticPolicyInit, NeverReusesWhatARunningSidecarHolds) {
  Node node(machine("1s8c"), {.reserved_count = 1});
  EXPECT_EQ(node.ask("a/init", 2, {}, Container::Kind::kInit), "1-2");
  EXPECT_EQ(node.ask("a/log", 2, {}, Container::Kind::kSidecar), "1-2");
  // The pod is admitted again, as after a restart, before another container comes.
  EXPECT_EQ(node.ask("a/init", 2, {}, Container::Kind::kInit), "1-2");
  EXPECT_EQ(node.ask("a/main", 1), "3");
}

TEST(StaticPolicyInit, UsesUpWhatThePodHasWhenTheSharedPoolIsSmall) {
  Node node(machine("2s2c"),
            {.options = {.strict_cpu_reservation = true, .prefer_align_by_uncore = true},
             .reserved = cpus("1"),
             .reserved_count = 1});
  EXPECT_EQ(node.ask("a/first", 1, {}, Container::Kind::kInit), "0");
  EXPECT_EQ(node.ask("a/second", 2, {}, Container::Kind::kInit), "0,2");
  EXPECT_EQ(node.state().shared, cpus("3"));
}

TEST(StaticPolicyFullCoresSplit, KeepsTheWholeCoresThatAreNear) {
  // Six NUMA nodes of one core; 0-2 reserved, so that node 1 has no whole core left.
  Node node(machine("6s1c2t"),
            {.options = {.full_pcpus_only = true, .strict_cpu_reservation = true},
             .reserved = cpus("0-2"),
             .reserved_count = 3});
  EXPECT_EQ(node.ask("a/c", 4, NodeSet{NodeId(1), NodeId(4)}), "4-5,8-9");
}

}  // namespace
}  // namespace corehold
