// SPDX-License-Identifier: Apache-2.0
#include "features/own_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

OwnFeatures own(NodeConfiguration node) {
  node.version = version("1.37.0");
  return OwnFeatures::of(extension_registry(), std::move(node));
}

TEST(OwnFeatures, AreThoseOfTheConfiguration) {
  EXPECT_THAT(own({}).names(), IsEmpty());
  EXPECT_THAT(own({.gates = {{kRestart, true}, {std::string(kExclusiveCpusFeature), true}},
                   .static_config = {{std::string(kCpuManagerPolicyKey), "static"}}})
                  .names(),
              ElementsAre(kExclusiveCpusFeature, kRestart));
}

TEST(OwnFeatures, RefuseAPodThatNeedsOthersAndSayWhatIsMissingAndWhy) {
  EXPECT_THAT(feature_refusal(own({}), restart_all_pod()),
              Optional<std::string>("Pod requires node features that are not available: "
                                    "RestartAllContainersOnContainerExits (its gate is off)"));
  EXPECT_EQ(feature_refusal(own({.gates = {{kRestart, true}}}), restart_all_pod()), std::nullopt);
}

TEST(OwnFeatures, SayOfEachFeatureWhatItLacks) {
  const Pod pod = pod_with_spec(
      R"({"hostNetwork":true,"hostUsers":false,"containers":[{"name":"c","restartPolicyRules":[
          {"action":"RestartAllContainers"}]}]})");
  EXPECT_THAT(feature_refusal(own({}), pod),
              Optional<std::string>(
                  "Pod requires node features that are not available: "
                  "RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport "
                  "(RestartAllContainersOnContainerExits: its gate is off; "
                  "UserNamespacesHostNetworkSupport: its gate is off, "
                  "the runtime lacks UserNamespacesHostNetwork)"));
}

TEST(OwnFeatures, LeaveOutWhatTheNodeDoesNotHave) {
  const Registry& registry = extension_registry();
  FeatureSet absent = registry.none();
  absent.insert(*registry.find(kRestart));
  const OwnFeatures own = OwnFeatures::of(
      registry, {.gates = {{kRestart, true}}, .version = version("1.37.0")}, absent);
  EXPECT_THAT(own.names(), IsEmpty());
  EXPECT_THAT(
      feature_refusal(own, restart_all_pod()),
      Optional<std::string>("Pod requires node features that are not available: "
                            "RestartAllContainersOnContainerExits (this node does not have it)"));
}

TEST(OwnFeatures, SayWhyTheyAreNotDeclared) {
  const auto why = [](std::string_view name, NodeConfiguration node) {
    return why_undeclared(own(std::move(node)),
                          extension_registry().feature(*extension_registry().find(name)));
  };
  EXPECT_EQ(
      why(kExclusiveCpusFeature, {.static_config = {{std::string(kCpuManagerPolicyKey), "none"}}}),
      "its gate is off, cpuManagerPolicy is none, must be static");
}

TEST(OwnFeatures, DoNotKeepPodsAwayThatAskForAssignedCpus) {
  const Pod pod = assigned_cpus_pod();
  ASSERT_EQ(text_of(extension_registry(),
                    *extension_registry().infer_for_scheduling(pod, version("1.37.0"))),
            kAssignedResourcesFeature);
  EXPECT_EQ(feature_refusal(own({}), pod), std::nullopt);
}

}  // namespace
}  // namespace corehold
