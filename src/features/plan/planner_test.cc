// SPDX-License-Identifier: Apache-2.0
#include "features/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

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
  pod.raw.edit().at("spec").as_object()["nodeName"] = node;
  return pod;
}

class Planner : public testing::Test {
 protected:
  FeaturePlan plan(const std::vector<std::string>& texts = {}) {
    std::vector<NodeChange> changes;
    changes.reserve(texts.size());
    for (const std::string& text : texts) changes.push_back(change(text));
    auto made = plan_features(extension_registry(), pods_, nodes_, changes, version("1.37.0"));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  }

  std::vector<Pod> pods_{restart_all_pod()};
  std::vector<FeatureNode> nodes_{
      {.name = "w1", .declared_features = {kRestart}, .kubelet_version = "v1.37.0"},
      {.name = "w2", .kubelet_version = "v1.37.0"},
      {.name = "w3", .kubelet_version = "v1.37.0"}};
};

TEST_F(Planner, NamesWhoFitsAndWhatTheOthersLack) {
  const FeaturePlan made = plan();
  ASSERT_EQ(made.pods.size(), 1U);
  EXPECT_EQ(made.pods[0].pod, "default/p");
  const FeatureNeed& need = made.needs[made.pods[0].need];
  EXPECT_THAT(need.features, ElementsAre(kRestart));
  EXPECT_THAT(need.now.fits, ElementsAre("w1"));
  ASSERT_EQ(need.now.others.size(), 1U);
  EXPECT_THAT(need.now.others[0].nodes, ElementsAre("w2", "w3"));
  EXPECT_FALSE(need.then);
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST_F(Planner, ShowsWhatAGateWouldChange) {
  const FeaturePlan made = plan({"w2=" + kRestart, "w1=" + kRestart + "=false"});
  const NeedAfter& then = *made.needs[0].then;
  EXPECT_THAT(then.answer.fits, ElementsAre("w2"));
  EXPECT_THAT(then.gains, ElementsAre("w2"));
  EXPECT_THAT(then.losses, ElementsAre("w1"));
  ASSERT_EQ(then.answer.others.size(), 1U);
  EXPECT_THAT(then.answer.others[0].features, ElementsAre(kRestart));
  EXPECT_THAT(then.answer.others[0].nodes, ElementsAre("w1", "w3"));
}

TEST_F(Planner, ChangesEveryNodeAtOnce) {
  EXPECT_THAT(plan({"*=" + kRestart + "/1.37.1"}).needs[0].then->answer.fits,
              ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(plan({"*=NodeDeclaredFeatures=false"}).needs[0].then->answer.fits, IsEmpty());
}

TEST_F(Planner, SaysOnceOfAllNodesWhyAGateBringsNothing) {
  nodes_[1].kubelet_version = "v1.34.2";
  nodes_[2].kubelet_version = "v1.34.2";
  const FeaturePlan made = plan({"*=" + kRestart});
  EXPECT_THAT(made.needs[0].then->gains, IsEmpty());
  EXPECT_THAT(made.notes, ElementsAre(kRestart + " would not be declared by w2, w3: version "
                                                 "v1.34.2 is before 1.35, the first that declares "
                                                 "features"));
}

TEST_F(Planner, WarnsOfBoundPodsThatANodeWouldFail) {
  pods_ = {bound(restart_all_pod(), "w1")};
  EXPECT_THAT(plan().notes, IsEmpty());
  EXPECT_THAT(
      plan({"w1=" + kRestart + "=false"}).notes,
      ElementsAre("pod default/p is bound to w1, which would no longer declare " + kRestart +
                  ": its kubelet fails it when it starts again (PodFeatureUnsupported); a "
                  "failed pod stays failed, drain the node or recreate the pod"));
}

// KEP-5328's upgrade plan: the gate is flipped on the node, testpod1 remains running.
TEST_F(Planner, BoundPodsKeepRunningOnANodeThatAsksNoMore) {
  pods_ = {bound(restart_all_pod(), "w1")};
  const auto text = [](const std::string& why) {
    return "pod default/p is bound to w1, which would no longer declare " + kRestart +
           " and not ask for it (" + why +
           "): the pod keeps running; schedulers no longer choose the node";
  };
  EXPECT_THAT(plan({"w1=NodeDeclaredFeatures=false"}).notes,
              ElementsAre(text("gate NodeDeclaredFeatures is off")));
  EXPECT_THAT(plan({"w1=/1.34.0"}).notes,
              ElementsAre(text("version 1.34.0 is before 1.35, the first that declares features")));
}

TEST_F(Planner, WarnsOfBoundPodsWhoseNodeLacksWhatTheyNeedWhateverElseChanges) {
  pods_ = {bound(restart_all_pod(), "w2")};
  const std::string text = "pod default/p is bound to w2, which does not declare " + kRestart +
                           ": its kubelet refuses it (PodFeatureUnsupported)";
  EXPECT_THAT(plan().notes, ElementsAre(text));
  EXPECT_THAT(plan({"w3=" + kRestart}).notes, ElementsAre(text));
  nodes_[1].kubelet_version = "v1.34.2";
  EXPECT_THAT(plan().notes, ElementsAre("pod default/p is bound to w2, which has no " + kRestart +
                                        " and does not ask for it (version v1.34.2 is before "
                                        "1.35, the first that declares features): the pod runs "
                                        "without it"));
}

TEST_F(Planner, NoNodeRefusesPodsThatAskForAssignedCpus) {
  pods_ = {bound(assigned_cpus_pod(), "w1")};
  EXPECT_THAT(plan().notes, IsEmpty());
  const std::string feature(kAssignedResourcesFeature);
  nodes_[0].declared_features = {feature};
  EXPECT_THAT(plan({"w1=" + feature + "=false"}).notes,
              ElementsAre("pod default/p is bound to w1, which would no longer declare " + feature +
                          " and not ask for it: the pod keeps running; schedulers no longer "
                          "choose the node"));
}

TEST_F(Planner, NotesNodesOfUnknownVersion) {
  nodes_[0].kubelet_version = "";
  nodes_[1].kubelet_version = "banana";
  nodes_[2].kubelet_version = "corehold-v0.1.0";
  nodes_[2].annotations = {{std::string(kDeclaredFeaturesAnnotation), ""}};
  EXPECT_THAT(plan().notes,
              ElementsAre("version unknown (status.nodeInfo.kubeletVersion): w1, w2; counted as "
                          "one that declares features"));
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

TEST(Requirements, AreShownInWords) {
  EXPECT_EQ(requirements_text(*extension_registry().requirements("VolumeBindMountOptions")),
            "gate VolumeBindMountOptions, runtime feature MountOptions");
  EXPECT_EQ(requirements_text(
                *extension_registry().requirements("InPlacePodVerticalScalingExclusiveCPUs")),
            "gate InPlacePodVerticalScalingExclusiveCPUs, cpuManagerPolicy static");
}

}  // namespace
}  // namespace corehold
