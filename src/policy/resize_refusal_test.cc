// SPDX-License-Identifier: Apache-2.0
//
// Resizes that are Infeasible or Deferred: every cause, in its exact words.
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/resize_testing.h"
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
  bookings.cpus.pods["a"]["main"] = {.assigned = cpus("0-1")};
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
              HasSubstr("not enough free physical CPUs: available physical CPUs = 10"));
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

}  // namespace
}  // namespace corehold
