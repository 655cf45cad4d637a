// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet would have counted.
#include "manager/placing/admission_counts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kTried = "kubelet_topology_manager_admission_requests_total";
constexpr const char* kRefused = "kubelet_topology_manager_admission_errors_total";
constexpr const char* kPinned = "kubelet_cpu_manager_pinning_requests_total";
constexpr const char* kNotPinned = "kubelet_cpu_manager_pinning_errors_total";

std::string aligned(const char* scope, const char* boundary) {
  return fmt::format("kubelet_container_aligned_compute_resources_count {} {}", scope, boundary);
}
std::string not_aligned(const char* scope, const char* boundary) {
  return fmt::format("kubelet_container_aligned_compute_resources_failure_count {} {}", scope,
                     boundary);
}

// Two sockets, each a NUMA node and an L3 cache with 8 CPUs; CPU 0 is reserved.
class AdmissionCounts : public testing::Test {
 protected:
  void set_up(StaticOptions options, TopologyOptions topology_options = {}) {
    node_ = std::make_unique<TestNode>(machine("2s4c2t"),
                                       StaticConfig{.options = options,
                                                    .reserved = cpus("0"),
                                                    .reserved_count = 1,
                                                    .topology_policy = topology_options.policy});
    rules_ = std::make_unique<ManagerRules>(node_->rules());
    rules_->admission.topology_options = topology_options;
  }

  // What is counted when the pod is tried; it is put into effect if it fits.
  std::vector<std::string> try_pod(const std::string& name,
                                   const std::vector<std::string>& containers) {
    const Pod pod = pod_of(name, containers);
    PlacingState& placing = node_->node().placing;
    std::vector<Effect> effects;
    std::vector<Notice> notices;
    PlacingTurn turn{
        {.rules = *rules_, .now = node_->time(), .effects = effects}, placing, notices};
    count_admission(turn, admit(rules_->admission, placing.bookings, pod));
    std::vector<std::string> lines;
    for (const Effect& effect : effects) {
      const auto& metric = std::get<CountMetric>(effect);
      std::string line = metric.name;
      for (const char* label : {"scope", "boundary"}) {
        const auto found = metric.labels.find(label);
        if (found != metric.labels.end()) line += " " + found->second;
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

  std::unique_ptr<TestNode> node_;
  std::unique_ptr<ManagerRules> rules_;
};

TEST_F(AdmissionCounts, EachContainerAsksForCpusAndASharedOneForNone) {
  set_up({});
  EXPECT_THAT(try_pod("a", {"one cpu=2 memory=1Gi", "two cpu=2 memory=1Gi"}),
              ElementsAre(kTried, kPinned, aligned("container", "uncore_cache"), kPinned,
                          aligned("container", "uncore_cache")));
  EXPECT_THAT(try_pod("b", {"main cpu=500m memory=1Gi"}), ElementsAre(kTried));
}

TEST_F(AdmissionCounts, TheContainerThatDoesNotFitIsTheLastThatCounts) {
  set_up({});
  EXPECT_THAT(
      try_pod("a", {"one cpu=2 memory=1Gi", "two cpu=20 memory=1Gi", "three cpu=1 memory=1Gi"}),
      ElementsAre(kTried, kRefused, kPinned, aligned("container", "uncore_cache"), kPinned,
                  kNotPinned));
}

TEST_F(AdmissionCounts, CpusOfTwoCachesAreNotAligned) {
  set_up({});
  EXPECT_THAT(try_pod("a", {"main cpu=10 memory=1Gi"}), ElementsAre(kTried, kPinned));
}

TEST_F(AdmissionCounts, CpusThatAContainerHasAlreadyAreNotAlignedAnew) {
  set_up({});
  try_pod("a", {"main cpu=2 memory=1Gi"});
  EXPECT_THAT(try_pod("a", {"main cpu=2 memory=1Gi"}), ElementsAre(kTried, kPinned));
}

TEST_F(AdmissionCounts, WholeCoresAreAlignedOrNotWithThatOption) {
  set_up({.full_pcpus_only = true});
  EXPECT_THAT(try_pod("a", {"main cpu=2 memory=1Gi"}),
              ElementsAre(kTried, kPinned, aligned("container", "physical_cpu"),
                          aligned("container", "uncore_cache")));
  EXPECT_THAT(
      try_pod("b", {"main cpu=3 memory=1Gi"}),
      ElementsAre(kTried, kRefused, kPinned, kNotPinned, not_aligned("container", "physical_cpu")));
}

TEST_F(AdmissionCounts, OneNumaNodeIsGuaranteedForEachContainer) {
  set_up({}, {.policy = TopologyPolicy::kSingleNumaNode});
  EXPECT_THAT(try_pod("a", {"main cpu=2 memory=1Gi", "shared cpu=500m memory=1Gi"}),
              ElementsAre(kTried, kPinned, aligned("container", "uncore_cache"),
                          aligned("container", "numa_node"), aligned("container", "numa_node")));
  EXPECT_THAT(try_pod("b", {"main cpu=9 memory=1Gi"}),
              ElementsAre(kTried, kRefused, not_aligned("container", "numa_node")));
}

TEST_F(AdmissionCounts, OneNumaNodeIsGuaranteedForThePodWithThatScope) {
  set_up({}, {.policy = TopologyPolicy::kSingleNumaNode, .scope = TopologyScope::kPod});
  EXPECT_THAT(try_pod("a", {"one cpu=2 memory=1Gi", "two cpu=2 memory=1Gi"}),
              ElementsAre(kTried, kPinned, aligned("container", "uncore_cache"), kPinned,
                          aligned("container", "uncore_cache"), aligned("pod", "numa_node")));
  EXPECT_THAT(try_pod("b", {"one cpu=5 memory=1Gi", "two cpu=5 memory=1Gi"}),
              ElementsAre(kTried, kRefused, not_aligned("pod", "numa_node")));
}

TEST_F(AdmissionCounts, OtherTopologyPoliciesGuaranteeNothing) {
  set_up({}, {.policy = TopologyPolicy::kRestricted});
  EXPECT_THAT(try_pod("a", {"main cpu=2 memory=1Gi"}),
              ElementsAre(kTried, kPinned, aligned("container", "uncore_cache")));
}

TEST_F(AdmissionCounts, PolicyNonePinsNothing) {
  set_up({});
  rules_->pins_cpus = false;
  EXPECT_THAT(try_pod("a", {"main cpu=2 memory=1Gi"}), ElementsAre(kTried));
}

TEST_F(AdmissionCounts, AreEffectsOfTheStepThatAdmits) {
  set_up({});
  node_->take_counts();
  node_->create(pod_of("a", {"main cpu=2 memory=1Gi"}));
  EXPECT_THAT(node_->take_counts(),
              ElementsAre(kTried, kPinned, "kubelet_container_aligned_compute_resources_count"));
  EXPECT_THAT(node_->take_counts(), IsEmpty());
}

}  // namespace
}  // namespace corehold
