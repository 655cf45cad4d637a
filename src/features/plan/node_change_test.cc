// SPDX-License-Identifier: Apache-2.0
#include "features/plan/node_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

const std::string kExclusive(kExclusiveCpusFeature);
const std::string kBefore135 = "version v1.34.2 is before 1.35, the first that declares features";

NodeChange change(std::string_view text) {
  auto parsed = NodeChange::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

// The node after all of the changes.
NodeAfter after(const FeatureNode& node, const std::vector<std::string>& texts) {
  std::vector<NodeChange> changes;
  changes.reserve(texts.size());
  for (const std::string& text : texts) changes.push_back(change(text));
  return node_after(extension_registry(), node, change_of(changes, node.name));
}

FeatureNode new_node() {
  return {.name = "w", .declared_features = {kRestart}, .kubelet_version = "v1.37.0"};
}
FeatureNode old_node() { return {.name = "w", .kubelet_version = "v1.34.2"}; }
// An old kubelet, and Corehold's agent beside it.
FeatureNode old_node_with_agent() {
  FeatureNode node = old_node();
  node.annotations = {{std::string(kCpuManagerPolicyAnnotation), "static"},
                      {std::string(kDeclaredFeaturesAnnotation), kExclusive + ",Newer"}};
  return node;
}

TEST(NodeChange, NamesWhatIsWrong) {
  const std::string form = "; it looks like worker-1=MyGate,OtherGate=false/1.37.0";
  const std::map<std::string, std::string> problems = {
      {"w1", R"("w1": no = after the node)"},
      {"=A", R"("=A": no node before =)"},
      {"w1=", R"("w1=": neither gates nor a version)"},
      {"w1=a", R"("w1=a": "a" is no name of a gate)"},
      {"w1=1.37.0",
       R"("w1=1.37.0": "1.37.0" is no name of a gate; a version comes after /: w1=/1.37.0)"},
      {"w1=A,,B", R"("w1=A,,B": "" is no name of a gate)"},
      {"w1=A=on", R"("w1=A=on": gate A is "on", must be true or false)"},
      {"w1=A,A=false", R"("w1=A,A=false": gate A is given twice)"},
      {"w1=A/x", R"("w1=A/x": "x" is no version; write it as 1.37.0 or v1.37.0-rc.1)"},
  };
  for (const auto& [text, problem] : problems) {
    const auto parsed = NodeChange::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, problem + form);
  }
}

TEST(NodeChange, OfOneNodeIsAllThatSpeakOfItTheLaterFirst) {
  const std::vector<NodeChange> changes = {change("*=A,B/1.36.0"), change("w=A=false"),
                                           change("other=C"), change("w=/1.37.0")};
  const NodeChange whole = change_of(changes, "w");
  EXPECT_THAT(whole.gates, ElementsAre(Pair("A", false), Pair("B", true)));
  EXPECT_EQ(whole.version->str(), "1.37.0");
  EXPECT_TRUE(change_of(std::span(changes).subspan(1), "third").is_empty());
}

TEST(NodeAfter, OfNoChangeIsTheNodeAsItIs) {
  EXPECT_THAT(after(new_node(), {}).declared, ElementsAre(kRestart));
  EXPECT_EQ(after(new_node(), {}).silent, std::nullopt);
  EXPECT_THAT(after(old_node(), {}).silent, Optional(kBefore135));
}

TEST(NodeAfter, KnowsTheVersionThatTheNodeHasAlready) {
  const NodeAfter old = after(old_node(), {"w=" + kRestart});
  EXPECT_THAT(old.declared, IsEmpty());
  EXPECT_THAT(old.unmet, ElementsAre(Pair(kRestart, kBefore135)));
  EXPECT_THAT(after(old_node(), {"w=" + kRestart + "/1.37.0"}).declared, ElementsAre(kRestart));
}

TEST(NodeAfter, KnowsTheVersionOfAnEarlierChange) {
  EXPECT_THAT(after(new_node(), {"w=/1.34.0", "w=" + kRestart}).declared, IsEmpty());
  EXPECT_THAT(after(old_node(), {"*=/1.37.0", "w=" + kRestart}).declared, ElementsAre(kRestart));
}

TEST(NodeAfter, In135DeclaresOnlyWithTheGateOfTheMechanism) {
  const std::string off = "gate NodeDeclaredFeatures is off by default in 1.35";
  const NodeAfter by_default = after(old_node(), {"w=" + kRestart + "/1.35.0"});
  EXPECT_THAT(by_default.declared, IsEmpty());
  EXPECT_THAT(by_default.unmet, ElementsAre(Pair(kRestart, off)));
  EXPECT_THAT(after(new_node(), {"w=/1.35.0"}).silent, Optional(off));
  EXPECT_THAT(after(old_node(), {"w=NodeDeclaredFeatures," + kRestart + "/1.35.0"}).declared,
              ElementsAre(kRestart));
  // It declares, so its gate was turned on.
  FeatureNode alpha = new_node();
  alpha.kubelet_version = "v1.35.1";
  EXPECT_THAT(after(alpha, {"w=VolumeBindMountOptions"}).declared,
              ElementsAre(kRestart, "VolumeBindMountOptions"));
}

TEST(NodeAfter, BelievesWhatANodeDeclaresMoreThanItsVersion) {
  FeatureNode patched = new_node();
  patched.kubelet_version = "v1.34.2-patched";
  EXPECT_EQ(after(patched, {}).silent, std::nullopt);
  EXPECT_THAT(after(patched, {"w=VolumeBindMountOptions"}).declared,
              ElementsAre(kRestart, "VolumeBindMountOptions"));
  EXPECT_THAT(after(patched, {"w=/1.34.2"}).declared, IsEmpty());
}

TEST(NodeAfter, DeclaresNothingWithTheGateOfTheMechanismOff) {
  const NodeAfter off = after(new_node(), {"w=NodeDeclaredFeatures=false"});
  EXPECT_THAT(off.declared, IsEmpty());
  EXPECT_THAT(off.silent, Optional(std::string("gate NodeDeclaredFeatures is off")));
}

TEST(NodeAfter, ExclusiveCpusNeedTheStaticPolicyToo) {
  const NodeAfter none = after(new_node(), {"w=" + kExclusive});
  EXPECT_THAT(none.declared, ElementsAre(kRestart));
  EXPECT_THAT(none.unmet,
              ElementsAre(Pair(kExclusive, "cpuManagerPolicy is none, must be static")));
  FeatureNode pins = new_node();
  pins.annotations = {{std::string(kCpuManagerPolicyAnnotation), "static"}};
  EXPECT_THAT(after(pins, {"w=" + kExclusive}).declared, ElementsAre(kExclusive, kRestart));
}

TEST(NodeAfter, WhatTheAgentDeclaresDoesNotDependOnTheKubelet) {
  const FeatureNode node = old_node_with_agent();
  EXPECT_THAT(after(node, {"w=/1.34.2"}).declared, ElementsAre(kExclusive, "Newer"));
  EXPECT_THAT(after(node, {"w=DownwardAPIAssignedResources"}).declared,
              ElementsAre("DownwardAPIAssignedResources", kExclusive, "Newer"));
  EXPECT_THAT(after(node, {"w=" + kExclusive + "=false"}).declared, ElementsAre("Newer"));
  EXPECT_THAT(after(node, {"w=NodeDeclaredFeatures=false"}).declared, IsEmpty());
  EXPECT_THAT(after(node, {"w=" + kRestart}).declared, ElementsAre(kExclusive, "Newer"));
}

TEST(NodeAfter, KeepsWhatIsNotRegistered) {
  FeatureNode node = new_node();
  node.declared_features = {"Newer", kRestart};
  EXPECT_THAT(after(node, {"w=" + kRestart + "=false"}).declared, ElementsAre("Newer"));
  EXPECT_THAT(after(node, {"w=/1.34.0"}).declared, IsEmpty());
}

}  // namespace
}  // namespace corehold
