// SPDX-License-Identifier: Apache-2.0
//
// The tables and cases of the proposals, by name: the six pods and three scenarios
// of KEP-3570, the six end-to-end cases of KEP-4540.
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "policy/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

struct Ask {
  const char* name;
  const char* request;  // of CPU; "" for none
  const char* limit;
};

// A pod with those containers; each has a memory request equal to its limit.
Pod pod_of(const char* uid, const std::vector<Ask>& asks) {
  Pod pod{.name = uid, .uid = uid};
  for (const Ask& ask : asks) {
    Container container{.name = ask.name};
    if (*ask.request != '\0') {
      container.resources.requests["cpu"] = *Quantity::parse(ask.request);
      container.resources.requests["memory"] = *Quantity::parse("1Gi");
    }
    if (*ask.limit != '\0') {
      container.resources.limits["cpu"] = *Quantity::parse(ask.limit);
      container.resources.limits["memory"] = *Quantity::parse("1Gi");
    }
    pod.containers.push_back(container);
  }
  return pod;
}

// CPUs 0-7 are socket 0, 8-15 socket 1; siblings are neighbours; CPU 0 is reserved.
class Kep3570 : public testing::Test {
 protected:
  Node node_{machine("2s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(Kep3570, PodTableRow1GuaranteedHalfCpuIsShared) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "0.5", "0.5"}})), "A=shared");
}

TEST_F(Kep3570, PodTableRow2GuaranteedTwoCpusAreSiblings) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "2.0", "2.0"}})), "A=2-3");
  EXPECT_EQ(node_.state().shared, cpus("0-1,4-15"));
  Node no_threads(machine("2s4c"), {.reserved = cpus("0"), .reserved_count = 1});
  EXPECT_EQ(no_threads.ask(pod_of("p", {{"A", "2.0", "2.0"}})), "A=1-2");
}

TEST_F(Kep3570, PodTableRow3OneContainerExclusiveTheOtherShared) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "1.0", "1.0"}, {"B", "0.5", "0.5"}})), "A=1 B=shared");
}

TEST_F(Kep3570, PodTableRow4FractionsAreShared) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "1.5", "1.5"}, {"B", "0.5", "0.5"}})),
            "A=shared B=shared");
}

TEST_F(Kep3570, PodTableRow5BurstableIsShared) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "2", "4"}, {"B", "1", ""}})), "A=shared B=shared");
}

TEST_F(Kep3570, PodTableRow6BestEffortIsShared) {
  EXPECT_EQ(node_.ask(pod_of("p", {{"A", "", ""}, {"B", "", ""}})), "A=shared B=shared");
}

TEST_F(Kep3570, Scenario1AContainerArrivesThatRequiresExclusiveCores) {
  EXPECT_EQ(node_.ask("p/A", 4), "2-5");
  EXPECT_EQ(node_.state().find({"p", "A"})->assigned, cpus("2-5"));
  EXPECT_FALSE(node_.state().shared.intersects(cpus("2-5")));
}

TEST_F(Kep3570, Scenario2AContainerThatWasAssignedExclusiveCoresTerminates) {
  node_.ask("p/A", 4);
  node_.release("p/A");
  EXPECT_EQ(node_.state().find({"p", "A"}), nullptr);
  EXPECT_EQ(node_.state().shared, cpus("0-15"));
}

TEST_F(Kep3570, Scenario3TheSharedPoolBecomesEmptyCannotHappen) {
  EXPECT_EQ(node_.ask("p/A", 15), "1-15");
  EXPECT_EQ(node_.state().shared, cpus("0"));
  EXPECT_EQ(node_.ask("q/A", 1),
            "not enough cpus available to satisfy request: requested=1, available=0");
}

class Kep4540 : public testing::Test {
 protected:
  static StaticConfig strict(StaticOptions options = {}) {
    options.strict_cpu_reservation = true;
    return {.options = options, .reserved = cpus("0-1"), .reserved_count = 2};
  }
};

TEST_F(Kep4540, ShouldLetTheContainerAccessAllTheOnlineCpusWithoutAReservedCpusSet) {
  const Topology eight = machine("1s4c2t");
  const auto policy = StaticPolicy::make(eight, {.options = {.strict_cpu_reservation = true}});
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->start({})->shared, cpus("0-7"));
}

TEST_F(Kep4540, ShouldLetTheContainerAccessAllTheOnlineCpusMinusTheReservedCpusSetWhenEnabled) {
  Node node(machine("1s4c2t"), strict());
  EXPECT_EQ(node.ask(pod_of("p", {{"A", "0.5", "1"}})), "A=shared");
  EXPECT_EQ(node.state().shared, cpus("2-7"));
}

TEST_F(Kep4540,
       ShouldLetTheContainerAccessAllTheOnlineNonExclusivelyAllocatedCpusMinusTheReserved) {
  Node node(machine("1s4c2t"), strict());
  EXPECT_EQ(node.ask(pod_of("p", {{"A", "2", "2"}})), "A=2-3");
  EXPECT_EQ(node.state().shared, cpus("4-7"));
}

TEST_F(Kep4540, ShouldRejectWorkloadAskingNonSmtMultipleOfCpus) {
  Node node(machine("1s4c2t"), strict({.full_pcpus_only = true}));
  EXPECT_EQ(node.ask("p/A", 1),
            "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2");
}

TEST_F(Kep4540, ShouldAdmitWorkloadAskingSmtMultipleOfCpus) {
  Node node(machine("1s4c2t"), strict({.full_pcpus_only = true}));
  EXPECT_EQ(node.ask("p/A", 2), "2-3");
}

TEST_F(Kep4540, ShouldAssignCpusAlignedToUncoreCachesAndAvoidReservedCpus) {
  Node node(machine("1s4l2c2t"), strict({.prefer_align_by_uncore = true}));
  EXPECT_EQ(node.ask("p/A", 4), "4-7");
  EXPECT_EQ(node.ask("q/A", 2), "2-3");
}

TEST(Kep4540Checkpoint, TheSixtyFourCpuExampleLeavesTheReservedCoresOut) {
  Node node(machine("2s16c2t", Numbering::kThreadsFar),
            {.options = {.strict_cpu_reservation = true},
             .reserved = cpus("0,32,1,33,16,48"),
             .reserved_count = 6});
  EXPECT_EQ(node.state().shared.str(), "2-15,17-31,34-47,49-63");
}

}  // namespace
}  // namespace corehold
