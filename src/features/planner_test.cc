// SPDX-License-Identifier: Apache-2.0
#include "features/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeChange change(std::string_view text) {
  auto parsed = NodeChange::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

Pod bound(Pod pod, std::string_view node) {
  pod.raw.at("spec").as_object()["nodeName"] = node;
  return pod;
}

class Planner : public testing::Test {
 protected:
  FeaturePlan plan(const std::vector<NodeChange>& changes = {}) {
    auto made = plan_features(extension_registry(), pods_, nodes_, changes, version("1.37.0"));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }

  std::vector<Pod> pods_{restart_all_pod()};
  std::vector<FeatureNode> nodes_{
      {.name = "w1", .declared_features = {kRestart}}, {.name = "w2"}, {.name = "w3"}};
};

TEST_F(Planner, CountsWhoFitsAndNamesWhatTheOthersLack) {
  const FeaturePlan made = plan();
  ASSERT_EQ(made.pods.size(), 1U);
  EXPECT_EQ(made.pods[0].pod, "default/p");
  const FeatureNeed& need = made.needs[made.pods[0].need];
  EXPECT_THAT(need.features, ElementsAre(kRestart));
  EXPECT_EQ(need.fitting, 1U);
  ASSERT_EQ(need.others.size(), 1U);
  EXPECT_THAT(need.others[0].nodes, ElementsAre("w2", "w3"));
  EXPECT_FALSE(need.after);
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST_F(Planner, ShowsWhatAGateWouldChange) {
  const FeaturePlan made = plan({change("w2=" + kRestart), change("w1=" + kRestart + "=false")});
  const NeedAfter& after = *made.needs[0].after;
  EXPECT_EQ(after.fitting, 1U);
  EXPECT_THAT(after.gains, ElementsAre("w2"));
  EXPECT_THAT(after.losses, ElementsAre("w1"));
}

TEST_F(Planner, ChangesEveryNodeAtOnce) {
  EXPECT_EQ(plan({change("*=" + kRestart + "/1.37.1")}).needs[0].after->fitting, 3U);
  EXPECT_EQ(plan({change("*=NodeDeclaredFeatures=false")}).needs[0].after->fitting, 0U);
}

TEST_F(Planner, ANodeBefore135DeclaresNothing) {
  EXPECT_EQ(plan({change("w1=/1.34.9")}).needs[0].after->fitting, 0U);
  EXPECT_EQ(plan({change("w1=/1.35.0-alpha.1")}).needs[0].after->fitting, 1U);
}

TEST_F(Planner, WarnsOfBoundPodsThatANodeWouldRefuse) {
  pods_ = {bound(restart_all_pod(), "w1")};
  EXPECT_THAT(plan().notes, IsEmpty());
  EXPECT_THAT(
      plan({change("w1=" + kRestart + "=false")}).notes,
      ElementsAre("pod default/p is bound to w1, which would no longer declare " + kRestart +
                  ": its kubelet fails it when it starts again (PodFeatureUnsupported); a "
                  "failed pod stays failed, drain the node or recreate the pod"));
  pods_ = {bound(restart_all_pod(), "w2")};
  EXPECT_THAT(plan().notes,
              ElementsAre("pod default/p is bound to w2, which does not declare " + kRestart +
                          ": its kubelet refuses it (PodFeatureUnsupported)"));
}

TEST_F(Planner, ExclusiveCpusNeedTheStaticPolicyToo) {
  const NodeChange turned_on = change("*=InPlacePodVerticalScalingExclusiveCPUs");
  EXPECT_THAT(declared_after(extension_registry(), nodes_[1], turned_on), IsEmpty());
  nodes_[1].annotations = {{"corehold.dev/cpu-manager-policy", "static"}};
  EXPECT_THAT(declared_after(extension_registry(), nodes_[1], turned_on),
              ElementsAre("InPlacePodVerticalScalingExclusiveCPUs"));
}

TEST_F(Planner, KeepsWhatItDoesNotKnow) {
  nodes_[0].declared_features = {"Newer", kRestart};
  EXPECT_THAT(declared_after(extension_registry(), nodes_[0], change("w1=" + kRestart + "=false")),
              ElementsAre("Newer"));
}

TEST_F(Planner, NotesNamesThatNoNodeMayDeclare) {
  nodes_[0].declared_features = {"bad"};
  ASSERT_EQ(plan().notes.size(), 1U);
  EXPECT_THAT(plan().notes[0], testing::StartsWith("node w1: invalid feature name \"bad\": "));
}

TEST_F(Planner, RefusesNodesThatAreNotThereOrThereTwice) {
  EXPECT_EQ(plan_features(extension_registry(), pods_, nodes_, std::vector{change("w9=/1.37.0")},
                          version("1.37.0"))
                .error(),
            (Error{Code::kNotFound, "there is no node \"w9\" in the list"}));
  nodes_.push_back(nodes_[0]);
  EXPECT_EQ(plan_features(extension_registry(), pods_, nodes_, {}, version("1.37.0")).error(),
            (Error{Code::kInvalid, "node w1 is in the list twice"}));
}

TEST(NodeChange, NamesWhatIsWrong) {
  const std::string form = "; it looks like worker-1=MyGate,OtherGate=false/1.37.0";
  const std::map<std::string, std::string> problems = {
      {"w1", R"("w1": no node before =)"},
      {"=A", R"("=A": no node before =)"},
      {"w1=", R"("w1=": neither gates nor a version)"},
      {"w1=a", R"("w1=a": "a" is no name of a gate)"},
      {"w1=A,,B", R"("w1=A,,B": "" is no name of a gate)"},
      {"w1=A=on", R"("w1=A=on": gate A is "on", must be true or false)"},
      {"w1=A,A=false", R"("w1=A,A=false": gate A is given twice)"},
      {"w1=A/x",
       R"("w1=A/x": version "x": 1 numbers, must be 2 or 3; it looks like 1.37.0 or v1.37.0-rc.1)"},
  };
  for (const auto& [text, problem] : problems) {
    const auto parsed = NodeChange::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, problem + form);
  }
}

TEST(Requirements, AreShownInWords) {
  EXPECT_EQ(requirements_text(*extension_registry().requirements("VolumeBindMountOptions")),
            "gate VolumeBindMountOptions, runtime feature MountOptions");
  EXPECT_EQ(requirements_text(
                *extension_registry().requirements("InPlacePodVerticalScalingExclusiveCPUs")),
            "gate InPlacePodVerticalScalingExclusiveCPUs, cpuManagerPolicy static");
}

// What a kubelet v1.37.0 with its default gates was seen to declare.
TEST(KubeletDefaults, AreThoseOfARecordedNode) {
  const Registry& registry = extension_registry();
  for (const std::string text : {"1.37.0", "v1.37.2", "1.37.0-rc.1"}) {
    const NodeConfiguration node{.gates = *kubelet_default_gates(version(text)),
                                 .version = version(text)};
    EXPECT_EQ(text_of(registry, registry.discover(node)),
              "ExtendWebSocketsToKubelet, InPlacePodLevelResourcesVerticalScaling, "
              "InPlacePodVerticalScalingInitContainers, RestartAllContainersOnContainerExits");
  }
  EXPECT_FALSE(kubelet_default_gates(version("1.36.5")));
  EXPECT_FALSE(kubelet_default_gates(version("1.38.0-alpha.0")));
}

}  // namespace
}  // namespace corehold
