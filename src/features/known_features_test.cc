// SPDX-License-Identifier: Apache-2.0
#include "features/known_features.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "features/registry/testing.h"
#include "pod/testing.h"

namespace corehold {
namespace {

std::string needs(const Pod& pod) {
  return text_of(extension_registry(),
                 *extension_registry().infer_for_scheduling(pod, version("1.37.0")));
}

std::string needs(const Pod& old_pod, const Pod& new_pod) {
  return text_of(extension_registry(),
                 *extension_registry().infer_for_update(old_pod, new_pod, version("1.37.0")));
}

TEST(KnownFeatures, AreNineOfKubernetesAndTwoOfOurs) {
  EXPECT_EQ(kubernetes_registry().features().size(), 9U);
  EXPECT_EQ(extension_registry().features().size(), 11U);
  EXPECT_TRUE(extension_registry().find("InPlacePodVerticalScalingExclusiveCPUs"));
  EXPECT_TRUE(extension_registry().find("DownwardAPIAssignedResources"));
}

TEST(KnownFeatures, SetsOfTheTwoRegistriesDoNotMix) {
  EXPECT_FALSE(kubernetes_registry().none().without(extension_registry().none()));
}

// KEP-5328: every registered feature has a gate, and its discovery looks at it.
TEST(KnownFeatures, AreDeclaredExactlyWhenEveryRequirementIsMet) {
  for (const Feature& feature : extension_registry().features()) {
    ASSERT_FALSE(feature.requirements.gates.empty()) << feature.name;
    NodeConfiguration complete{.static_config = feature.requirements.static_config};
    for (const std::string& gate : feature.requirements.gates) complete.gates[gate] = true;
    for (const std::string& name : feature.requirements.runtime_features) {
      complete.runtime_features.insert(name);
    }
    EXPECT_TRUE(feature.discover(complete)) << feature.name;
    for (const std::string& gate : feature.requirements.gates) {
      NodeConfiguration node = complete;
      node.gates[gate] = false;
      EXPECT_EQ(obstacles(feature, node), std::vector{fmt::format("gate {} is off", gate)});
      node.gates.erase(gate);
      EXPECT_FALSE(feature.discover(node)) << feature.name;
    }
    for (const auto& [key, value] : feature.requirements.static_config) {
      NodeConfiguration node = complete;
      node.static_config[key] = "none";
      EXPECT_EQ(obstacles(feature, node),
                std::vector{fmt::format("{} is none, must be {}", key, value)});
      node.static_config.erase(key);
      EXPECT_EQ(obstacles(feature, node),
                std::vector{fmt::format("{} is not set, must be {}", key, value)});
    }
    for (const std::string& name : feature.requirements.runtime_features) {
      NodeConfiguration node = complete;
      node.runtime_features.erase(name);
      EXPECT_EQ(obstacles(feature, node), std::vector{fmt::format("the runtime lacks {}", name)});
    }
  }
}

TEST(KnownFeatures, HaveTheirRequirements) {
  const Registry& registry = extension_registry();
  EXPECT_EQ(*registry.requirements("InPlacePodVerticalScalingExclusiveCPUs"),
            (Requirements{.gates = {"InPlacePodVerticalScalingExclusiveCPUs"},
                          .static_config = {{"cpuManagerPolicy", "static"}}}));
  EXPECT_EQ(*registry.requirements("UserNamespacesHostNetworkSupport"),
            (Requirements{.gates = {"UserNamespacesHostNetworkSupport"},
                          .runtime_features = {"UserNamespacesHostNetwork"}}));
  EXPECT_EQ(
      *registry.requirements("VolumeBindMountOptions"),
      (Requirements{.gates = {"VolumeBindMountOptions"}, .runtime_features = {"MountOptions"}}));
}

TEST(SchedulingNeeds, OfAPlainPodAreNone) {
  EXPECT_EQ(needs(pod_of("p", {"main cpu=2 memory=1Gi"})), "");
}

TEST(SchedulingNeeds, OfOneThatRestartsAllItsContainers) {
  EXPECT_EQ(needs(restart_all_pod()), "RestartAllContainersOnContainerExits");
}

TEST(SchedulingNeeds, OfAssignedResourcesInVolumes) {
  const auto pod = [](std::string_view volume) {
    return pod_with_spec(
        fmt::format(R"({{"containers":[{{"name":"c"}}],"volumes":[{}]}})", volume));
  };
  const std::string item =
      R"({"path":"p","resourceFieldRef":{"containerName":"c","resource":"assigned.cpuset"}})";
  EXPECT_EQ(needs(pod(R"({"name":"v","downwardAPI":{"items":[)" + item + "]}}")),
            "DownwardAPIAssignedResources");
  EXPECT_EQ(needs(pod(R"({"name":"v","projected":{"sources":[{"downwardAPI":{"items":[)" + item +
                      "]}}]}}")),
            "DownwardAPIAssignedResources");
  EXPECT_EQ(needs(pod(R"({"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":
                      {"containerName":"c","resource":"assigned.memset"}}]}})")),
            "DownwardAPIAssignedResources");
  EXPECT_EQ(needs(pod(R"({"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":
                      {"containerName":"c","resource":"limits.cpu"}}]}})")),
            "");
}

TEST(SchedulingNeeds, TakeFieldsOfTheWrongTypeForAbsent) {
  EXPECT_EQ(needs(pod_with_spec(R"({"hostNetwork":"yes","hostUsers":0,"volumes":{"a":1},
      "ephemeralContainers":[1,{"volumeMounts":[null,{"bindMountOptions":"noexec"}]}],
      "containers":[{"name":"c","restartPolicyRules":[3,{"action":7}]}]})")),
            "");
}

TEST(UpdateNeeds, OfAResizeOfExclusiveCpus) {
  const auto pod = [](const std::string& cpus) {
    return pod_of("p", {"main cpu=" + cpus + " memory=1Gi", "other cpu=500m memory=1Gi"});
  };
  EXPECT_EQ(needs(pod("2"), pod("4")), "InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_EQ(needs(pod("4"), pod("2")), "InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_EQ(needs(pod("2"), pod("1500m")), "InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_EQ(needs(pod("1500m"), pod("2")), "InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_EQ(needs(pod("2"), pod("2")), "");
  EXPECT_EQ(needs(pod("500m"), pod("1500m")), "");
}

TEST(UpdateNeeds, OfAResizeInABurstablePodAreNone) {
  EXPECT_EQ(
      needs(pod_of("p", {"main cpu=2.. memory=1Gi"}), pod_of("p", {"main cpu=4.. memory=1Gi"})),
      "");
}

TEST(UpdateNeeds, OfAnInitContainerFollowItsSpellingAsTheKubeletDoes) {
  const auto pod = [](std::string_view cpu, std::string_view policy) {
    return pod_with_spec(fmt::format(
        R"({{"containers":[{{"name":"c"}}],"initContainers":[{{"name":"i"{},"resources":{{
            "requests":{{"cpu":{}}}}}}}]}})",
        policy, cpu));
  };
  const std::string needed = "InPlacePodVerticalScalingInitContainers";
  EXPECT_EQ(needs(pod(R"("1")", ""), pod(R"("2")", "")), needed);
  EXPECT_EQ(needs(pod(R"("1")", ""), pod(R"("1000m")", "")), needed);
  EXPECT_EQ(needs(pod(R"("1")", ""), pod("1", "")), "");
  EXPECT_EQ(needs(pod(R"("1")", R"(,"restartPolicy":"Always")"),
                  pod(R"("2")", R"(,"restartPolicy":"Always")")),
            "");
}

}  // namespace
}  // namespace corehold
