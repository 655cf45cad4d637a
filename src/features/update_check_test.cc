// SPDX-License-Identifier: Apache-2.0
#include "features/update_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

// A pod with pod-level CPUs, as in the recorded refusal of an API server.
Pod pod_level(std::string_view cpus, std::string_view node) {
  return pod_with_spec(fmt::format(
      R"({{"nodeName":"{}","containers":[{{"name":"c"}}],
          "resources":{{"requests":{{"cpu":"{}"}},"limits":{{"cpu":"{}"}}}}}})",
      node, cpus, cpus));
}

Pod guaranteed(std::string_view cpus) {
  return pod_with_spec(fmt::format(
      R"({{"nodeName":"node-1","containers":[{{"name":"c","resources":{{
          "requests":{{"cpu":"{0}","memory":"1Gi"}},"limits":{{"cpu":"{0}","memory":"1Gi"}}}}}}]}})",
      cpus));
}

class UpdateCheck : public testing::Test {
 protected:
  // "" for an update that passes.
  std::string refusal(const Pod& old_pod, const Pod& new_pod,
                      std::string_view subresource = "resize") {
    const auto checked =
        check_update(extension_registry(), {old_pod, new_pod, subresource}, &node_, target_);
    return checked ? "" : checked.error().message;
  }

  FeatureNode node_{.name = "node-1"};
  std::optional<Version> target_ = version("1.37.0");
};

TEST_F(UpdateCheck, RefusesWithTheTextOfTheAdmissionPlugin) {
  EXPECT_EQ(refusal(pod_level("4", "node-1"), pod_level("6", "node-1")),
            "pod update requires features InPlacePodLevelResourcesVerticalScaling which are not "
            "available on node \"node-1\"");
  const auto checked = check_update(
      extension_registry(), {pod_level("4", "node-1"), pod_level("6", "node-1")}, &node_, target_);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kUnsupported);
}

TEST_F(UpdateCheck, NamesAllThatIsMissing) {
  const Pod old_pod = pod_with_spec(R"({"nodeName":"node-1","containers":[{"name":"c"}],
      "initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}}],"resources":{"requests":{"cpu":"1"}}})");
  const Pod new_pod = pod_with_spec(R"({"nodeName":"node-1","containers":[{"name":"c"}],
      "initContainers":[{"name":"i","resources":{"requests":{"cpu":"2"}}}],"resources":{"requests":{"cpu":"2"}}})");
  EXPECT_EQ(refusal(old_pod, new_pod),
            "pod update requires features InPlacePodLevelResourcesVerticalScaling, "
            "InPlacePodVerticalScalingInitContainers which are not available on node \"node-1\"");
}

TEST_F(UpdateCheck, PassesWhenTheNodeDeclaresIt) {
  node_.declared_features = {"InPlacePodLevelResourcesVerticalScaling"};
  EXPECT_EQ(refusal(pod_level("4", "node-1"), pod_level("6", "node-1")), "");
}

TEST_F(UpdateCheck, LeavesContainersAndSidecarsOfOrdinaryPodsAlone) {
  const auto pod = [](std::string_view cpus) {
    return pod_with_spec(fmt::format(
        R"({{"nodeName":"node-1","containers":[{{"name":"c","resources":{{"limits":{{"cpu":"{0}"}}}}}}],
            "initContainers":[{{"name":"i","resources":{{"limits":{{"cpu":"1"}}}}}},
            {{"name":"s","restartPolicy":"Always","resources":{{"limits":{{"cpu":"{0}"}}}}}}]}})",
        cpus));
  };
  EXPECT_EQ(refusal(pod("1"), pod("2")), "");
}

TEST_F(UpdateCheck, LooksAtThePodItselfAndAtResizeOnly) {
  const Pod old_pod = pod_level("4", "node-1");
  const Pod new_pod = pod_level("6", "node-1");
  EXPECT_NE(refusal(old_pod, new_pod, ""), "");
  EXPECT_NE(refusal(old_pod, new_pod, "resize"), "");
  EXPECT_EQ(refusal(old_pod, new_pod, "status"), "");
  EXPECT_EQ(refusal(old_pod, new_pod, "ephemeralcontainers"), "");
}

TEST_F(UpdateCheck, LeavesPodsWithoutANodeAlone) {
  EXPECT_EQ(refusal(pod_level("4", ""), pod_level("6", "")), "");
  EXPECT_EQ(node_to_check({pod_level("4", ""), pod_level("6", "")}), std::nullopt);
  EXPECT_EQ(node_to_check({pod_level("4", "node-1"), pod_level("6", "node-1")}), "node-1");
}

TEST_F(UpdateCheck, LeavesUpdatesAloneThatDoNotChangeTheSpec) {
  Pod labelled = pod_level("4", "node-1");
  labelled.labels["a"] = "b";
  EXPECT_EQ(node_to_check({pod_level("4", "node-1"), labelled}), std::nullopt);
  target_ = std::nullopt;
  EXPECT_EQ(refusal(pod_level("4", "node-1"), labelled), "");
}

TEST_F(UpdateCheck, AnUnknownNodeIsAnErrorOnlyWhenSomethingIsNeededOfIt) {
  const auto checked = [&](const Pod& old_pod, const Pod& new_pod) {
    return check_update(extension_registry(), {old_pod, new_pod}, nullptr, target_);
  };
  EXPECT_EQ(checked(pod_level("4", "node-1"), pod_level("6", "node-1")).error(),
            (Error{Code::kNotFound, "node \"node-1\" not found"}));
  const Pod plain = pod_with_spec(R"({"nodeName":"node-1","containers":[{"name":"c"}]})");
  const Pod other =
      pod_with_spec(R"({"nodeName":"node-1","containers":[{"name":"c","image":"i"}]})");
  EXPECT_TRUE(checked(plain, other));
}

TEST_F(UpdateCheck, NeedsATargetVersion) {
  target_ = std::nullopt;
  EXPECT_EQ(refusal(pod_level("4", "node-1"), pod_level("6", "node-1")),
            "failed to infer pod capability requirements: target version cannot be nil");
}

// The caveat of KEP-5328: a node that pins no CPUs has always resized such pods.
TEST_F(UpdateCheck, AsksExclusiveCpusOnlyOfNodesThatPin) {
  EXPECT_EQ(refusal(guaranteed("2"), guaranteed("4")), "");
  node_.annotations = {{"corehold.dev/cpu-manager-policy", "none"}};
  EXPECT_EQ(refusal(guaranteed("2"), guaranteed("4")), "");
  node_.annotations = {{"corehold.dev/cpu-manager-policy", "static"}};
  EXPECT_EQ(refusal(guaranteed("2"), guaranteed("4")),
            "pod update requires features InPlacePodVerticalScalingExclusiveCPUs which are not "
            "available on node \"node-1\"");
  node_.annotations["corehold.dev/declared-features"] = "InPlacePodVerticalScalingExclusiveCPUs";
  EXPECT_EQ(refusal(guaranteed("2"), guaranteed("4")), "");
}

}  // namespace
}  // namespace corehold
