// SPDX-License-Identifier: Apache-2.0
#include "features/node_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;

TEST(NodeGroups, SayWhichWouldFitAndWhyTheOthersWouldNot) {
  const Registry& registry = extension_registry();
  const std::vector<NodeGroup> groups = {
      {.name = "new",
       .node = {.gates = {{"VolumeBindMountOptions", true},
                          {"InPlacePodVerticalScalingExclusiveCPUs", true}},
                .static_config = {{"cpuManagerPolicy", "static"}},
                .runtime_features = {"MountOptions"},
                .version = version("1.37.0")}},
      {.name = "old-runtime",
       .node = {.gates = {{"VolumeBindMountOptions", true},
                          {"InPlacePodVerticalScalingExclusiveCPUs", true}},
                .static_config = {{"cpuManagerPolicy", "none"}},
                .version = version("1.37.0")}},
      {.name = "old", .node = {.version = version("1.34.0")}},
  };
  const auto answers = match_groups(
      registry,
      features_of(registry, {"VolumeBindMountOptions", "InPlacePodVerticalScalingExclusiveCPUs"}),
      groups);
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 3U);
  EXPECT_TRUE((*answers)[0].fits());
  EXPECT_EQ((*answers)[1].group, "old-runtime");
  ASSERT_EQ((*answers)[1].lacks.size(), 2U);
  EXPECT_EQ((*answers)[1].lacks[0].feature, "InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_THAT((*answers)[1].lacks[0].obstacles,
              ElementsAre("cpuManagerPolicy is none, must be static"));
  EXPECT_THAT((*answers)[1].lacks[1].obstacles, ElementsAre("the runtime lacks MountOptions"));
  EXPECT_THAT((*answers)[2].lacks[0].obstacles,
              ElementsAre("version 1.34.0 is before 1.35, the first that declares features",
                          "gate InPlacePodVerticalScalingExclusiveCPUs is off",
                          "cpuManagerPolicy is not set, must be static"));
}

TEST(NodeGroups, KnowWhenNothingIsDeclaredAtAll) {
  const Registry& registry = extension_registry();
  const std::vector<NodeGroup> groups = {
      {.name = "off",
       .node = {.gates = {{kRestart, true}, {"NodeDeclaredFeatures", false}},
                .version = version("1.37.0")}},
      {.name = "old", .node = {.gates = {{kRestart, true}}, .version = version("1.34.0")}}};
  const auto answers = match_groups(registry, features_of(registry, {kRestart}), groups);
  ASSERT_TRUE(answers);
  ASSERT_FALSE((*answers)[0].fits() || (*answers)[1].fits());
  EXPECT_THAT((*answers)[0].lacks[0].obstacles, ElementsAre("gate NodeDeclaredFeatures is off"));
  EXPECT_THAT((*answers)[1].lacks[0].obstacles,
              ElementsAre("version 1.34.0 is before 1.35, the first that declares features"));
}

TEST(NodeGroups, NameAVersionThatIsPastAFeature) {
  const Registry registry = *Registry::of(
      {{.name = "A", .requirements = {.gates = {"A"}}, .max_version = version("1.39.0")}});
  const std::vector<NodeGroup> groups = {
      {.name = "g", .node = {.gates = {{"A", true}}, .version = version("1.40.0")}}};
  const auto answers = match_groups(registry, features_of(registry, {"A"}), groups);
  ASSERT_TRUE(answers);
  EXPECT_THAT(answers->front().lacks.front().obstacles,
              ElementsAre("version 1.40.0 is past 1.39.0, the last with this feature"));
}

}  // namespace
}  // namespace corehold
