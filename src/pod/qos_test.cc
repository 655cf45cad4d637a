// SPDX-License-Identifier: Apache-2.0
#include "pod/qos.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

using Kind = Container::Kind;

Quantity q(std::string_view text) { return *Quantity::parse(text); }

// A container whose requests equal its limits.
Container pinned(std::string_view cpu, Kind kind = Kind::kApp) {
  const ResourceList amounts{{"cpu", q(cpu)}, {"memory", q("1Gi")}};
  return {.name = "c", .kind = kind, .resources = {.requests = amounts, .limits = amounts}};
}

Pod pod_of(std::vector<Container> containers, std::vector<Container> init_containers = {}) {
  return {.name = "p",
          .init_containers = std::move(init_containers),
          .containers = std::move(containers)};
}

TEST(QosClass, IsGuaranteedWhenEveryLimitIsRequested) {
  EXPECT_EQ(qos_class(pod_of({pinned("2"), pinned("1.5")}), {}), QosClass::kGuaranteed);
}

TEST(QosClass, IsBurstableWhenOneContainerAsksForLess) {
  Pod pod = pod_of({pinned("2"), pinned("1")});
  pod.containers[1].resources.requests["cpu"] = q("500m");
  EXPECT_EQ(qos_class(pod, {}), QosClass::kBurstable);
}

TEST(QosClass, IsBestEffortWhenNothingPositiveIsAsked) {
  Pod pod = pod_of({Container{.name = "c"}});
  pod.containers[0].resources.requests = {{"cpu", q("0")}, {"example.com/gpu", q("1")}};
  EXPECT_EQ(qos_class(pod, {}), QosClass::kBestEffort);
}

TEST(QosClass, LooksAtRequestsAsTheyAreWritten) {
  Pod pod = pod_of({pinned("2")});
  pod.containers[0].resources.requests.clear();
  EXPECT_EQ(qos_class(pod, {}), QosClass::kBurstable);
  set_defaults(pod);
  EXPECT_EQ(qos_class(pod, {}), QosClass::kGuaranteed);
}

TEST(QosClass, TrustsTheStatus) {
  Pod pod = pod_of({pinned("2")});
  pod.qos_class = "BestEffort";
  EXPECT_EQ(qos_class(pod, {}), QosClass::kBestEffort);
}

TEST(QosClass, OfEmptyPodLevelResourcesDependsOnTheGate) {
  Pod pod = pod_of({pinned("2")});
  pod.resources = Resources{};
  EXPECT_EQ(qos_class(pod, {}), QosClass::kGuaranteed);
  EXPECT_EQ(qos_class(pod, {.pod_level_resources_fix_kubelet_qos_class = false}),
            QosClass::kBestEffort);
  EXPECT_EQ(qos_class(pod, {.pod_level_resources = false}), QosClass::kGuaranteed);
}

TEST(ExclusiveCpus, AreForIntegralRequestsOfGuaranteedPods) {
  const Pod pod = pod_of({pinned("2"), pinned("1500m"), pinned("3000m")});
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[0], {}), 2);
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[1], {}), 0);
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[2], {}), 3);
}

TEST(ExclusiveCpus, AreNotForBurstablePods) {
  Pod pod = pod_of({pinned("2")});
  pod.containers[0].resources.limits["cpu"] = q("4");
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[0], {}), 0);
}

TEST(ExclusiveCpus, AreNotForPodsWithPodLevelResources) {
  Pod pod = pod_of({pinned("2")});
  pod.resources = pod.containers[0].resources;
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[0], {}), 0);
  EXPECT_EQ(exclusive_cpus(pod, pod.containers[0], {.pod_level_resources = false}), 2);
}

TEST(ExclusiveCpusOfAPod, ReuseThoseOfInitContainersButNotOfSidecars) {
  const Pod pod =
      pod_of({pinned("2"), pinned("3")},
             {pinned("4", Kind::kInit), pinned("1", Kind::kSidecar), pinned("6", Kind::kInit)});
  EXPECT_EQ(exclusive_cpus(pod, {}), 7);
}

TEST(ExclusiveCpusOfAPod, AreAtLeastThoseOfTheLongRunningContainers) {
  const Pod pod =
      pod_of({pinned("2"), pinned("3")}, {pinned("1", Kind::kSidecar), pinned("4", Kind::kInit)});
  EXPECT_EQ(exclusive_cpus(pod, {}), 6);
}

TEST(ExclusiveCpusOfAPod, DoNotOverflow) {
  const Pod pod = pod_of({pinned("9223372036854775807"), pinned("9223372036854775807")});
  EXPECT_EQ(exclusive_cpus(pod, {}), INT64_MAX);
}

}  // namespace
}  // namespace corehold
