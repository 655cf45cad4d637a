// SPDX-License-Identifier: Apache-2.0
//
// KEP-5328 as tests, as far as a library can show it: its walkthrough, its version skew
// and the upgrade and downgrade of a node under testpod1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/match.h"
#include "features/plan/planner.h"
#include "features/queueing.h"
#include "features/registry/testing.h"
#include "features/update_check.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kPodLevelResize = "InPlacePodLevelResourcesVerticalScaling";

Pod pod_level(const std::string& cpus) {
  return pod_with_spec(
      R"({"nodeName":"n","containers":[{"name":"c"}],"resources":{"requests":{"cpu":")" + cpus +
      R"("}}})");
}

// A feature in development: its gate, and a resize of a pod with pod-level resources needs it.
Feature new_feature() {
  return {.name = kPodLevelResize,
          .requirements = {.gates = {kPodLevelResize}},
          .infer_for_update = [](const Pod& old_pod, const Pod& new_pod) {
            return old_pod.resources != new_pod.resources;
          }};
}

Result<void> resize(const Registry& registry, const FeatureNode& node, const std::string& at) {
  return check_update(registry, {pod_level("1"), pod_level("2"), "resize"}, &node, version(at));
}

TEST(Kep5328Walkthrough, Phase1RegisteringAFeatureIsAllThatDevelopmentTakes) {
  const Registry before = *Registry::of({});
  const Registry after = *Registry::of({new_feature()});
  const NodeConfiguration node{.gates = {{kPodLevelResize, true}}};
  EXPECT_TRUE(before.discover(node).empty());
  EXPECT_EQ(text_of(after, after.discover(node)), kPodLevelResize);
  EXPECT_TRUE(resize(before, {.name = "n"}, "1.35.0"));
  EXPECT_FALSE(resize(after, {.name = "n"}, "1.35.0"));
}

TEST(Kep5328Walkthrough, Phase2RolloutAdmitsTheResizeWhereTheGateIsOn) {
  const Registry registry = *Registry::of({new_feature()});
  for (const bool is_on : {false, true}) {
    const NodeConfiguration configured{.gates = {{kPodLevelResize, is_on}}};
    const FeatureNode node{.name = "n",
                           .declared_features = *registry.names(registry.discover(configured))};
    EXPECT_EQ(resize(registry, node, "1.35.0").has_value(), is_on);
  }
}

TEST(Kep5328Walkthrough, Phase3AfterItsEndNobodyDeclaresOrAsks) {
  Feature ended = new_feature();
  ended.max_version = version("1.39.0");
  const Registry ending = *Registry::of({ended});
  const NodeConfiguration last{.gates = {{kPodLevelResize, true}}, .version = version("1.39.0")};
  NodeConfiguration newer = last;
  newer.version = version("1.40.0");
  EXPECT_EQ(ending.discover(last).size(), 1U);
  EXPECT_TRUE(ending.discover(newer).empty());
  EXPECT_FALSE(resize(ending, {.name = "n"}, "1.39.0"));
  EXPECT_TRUE(resize(ending, {.name = "n"}, "1.40.0"));
  // Removed: what old nodes still declare means nothing to anybody.
  const Registry removed = *Registry::of({});
  EXPECT_TRUE(removed.known(std::vector{kPodLevelResize}).empty());
  EXPECT_TRUE(resize(removed, {.name = "n", .declared_features = {kPodLevelResize}}, "1.40.0"));
}

// Gate NodeDeclaredFeatures on in the control plane (rows) and on the node (columns).
TEST(Kep5328VersionSkew, ControlPlaneOnOlderNodeKeepsPodsAndUpdatesAway) {
  const Registry& registry = kubernetes_registry();
  const FeatureNode old_node{.name = "n", .kubelet_version = "v1.34.0"};
  const FeatureSet needs = *registry.infer_for_scheduling(restart_all_pod(), version("1.35.0"));
  const Match found = *match_node(registry, needs, &old_node);
  EXPECT_FALSE(found.fits);
  EXPECT_EQ(scheduling_message(*registry.names(found.missing)),
            "node(s) did not match node declared features: RestartAllContainersOnContainerExits");
  EXPECT_FALSE(resize(registry, old_node, "1.35.0"));
}

TEST(Kep5328VersionSkew, ControlPlaneOnNewNodeLetsThemPass) {
  const Registry& registry = kubernetes_registry();
  const FeatureNode node{.name = "n", .declared_features = {kPodLevelResize, kRestart}};
  const FeatureSet needs = *registry.infer_for_scheduling(restart_all_pod(), version("1.35.0"));
  EXPECT_TRUE(match_node(registry, needs, &node)->fits);
  EXPECT_TRUE(resize(registry, node, "1.35.0"));
}

TEST(Kep5328VersionSkew, ControlPlaneOffIgnoresWhatNodesDeclare) {
  const Registry off = *Registry::of({});  // a component without the gate asks for nothing
  const FeatureSet needs = *off.infer_for_scheduling(restart_all_pod(), version("1.35.0"));
  for (const std::vector<std::string>& declared : {std::vector<std::string>{}, {kRestart}}) {
    const FeatureNode node{.name = "n", .declared_features = declared};
    EXPECT_TRUE(match_node(off, needs, &node)->fits);
    EXPECT_TRUE(resize(off, node, "1.35.0"));
  }
}

// The node under testpod1, which needs RestartAllContainersOnContainerExits.
class Kep5328Testpod1 : public testing::Test {
 protected:
  // The node becomes what the text says; whether testpod1 fits it then, and the hint that a
  // scheduler gets for the change.
  void change(const std::string& text) {
    const FeatureNode before = node_;
    const NodeChange change = *NodeChange::parse(text);
    node_.declared_features = node_after(registry_, node_, change).declared;
    if (change.version) node_.kubelet_version = change.version->str();
    hint_ =
        *hint_node_changed(needs_, declared_set(registry_, before), declared_set(registry_, node_));
    fits_ = match_node(registry_, needs_, &node_)->fits;
  }
  // What the planner says of a testpod1 that runs on the node.
  std::vector<std::string> warnings(const std::string& text) {
    Pod pod = restart_all_pod();
    pod.raw.edit().at("spec").as_object()["nodeName"] = "n";
    return plan_features(registry_, std::vector{pod}, std::vector{node_},
                         std::vector{*NodeChange::parse(text)}, version("1.35.0"))
        ->notes;
  }

  const Registry& registry_ = kubernetes_registry();
  FeatureSet needs_ = *registry_.infer_for_scheduling(restart_all_pod(), version("1.35.0"));
  FeatureNode node_{.name = "n"};
  QueueHint hint_ = QueueHint::kSkip;
  bool fits_ = false;
};

TEST_F(Kep5328Testpod1, UpgradeDowngradeUpgrade) {
  change("n=/1.34.0");
  EXPECT_FALSE(fits_);  // Pending
  change("n=NodeDeclaredFeatures,RestartAllContainersOnContainerExits/1.35.0");
  EXPECT_THAT(node_.declared_features, ElementsAre(kRestart));
  EXPECT_TRUE(fits_);
  EXPECT_EQ(hint_, QueueHint::kQueue);
  EXPECT_THAT(
      warnings("n=RestartAllContainersOnContainerExits=false"),
      ElementsAre(testing::HasSubstr("a failed pod stays failed, drain the node or recreate")));
  // The KEP expects testpod1 to fail; but a kubelet that old asks no pod for features.
  EXPECT_THAT(warnings("n=/1.34.0"), ElementsAre(testing::HasSubstr("the pod keeps running")));
  change("n=/1.34.0");
  EXPECT_THAT(node_.declared_features, IsEmpty());
  EXPECT_FALSE(fits_);  // recreated, it is Pending
  EXPECT_EQ(hint_, QueueHint::kSkip);
  change("n=NodeDeclaredFeatures,RestartAllContainersOnContainerExits/1.35.0");
  EXPECT_TRUE(fits_);
  EXPECT_EQ(hint_, QueueHint::kQueue);
}

TEST_F(Kep5328Testpod1, EnableAndDisableTheGates) {
  change("n=RestartAllContainersOnContainerExits/1.35.0");
  EXPECT_FALSE(fits_);  // alpha, off by default
  change("n=NodeDeclaredFeatures,RestartAllContainersOnContainerExits");
  EXPECT_TRUE(fits_);
  EXPECT_THAT(warnings("n=NodeDeclaredFeatures=false"),
              ElementsAre(testing::HasSubstr("the pod keeps running")));
  change("n=NodeDeclaredFeatures=false");
  EXPECT_THAT(node_.declared_features, IsEmpty());
  EXPECT_FALSE(fits_);
  change("n=NodeDeclaredFeatures,RestartAllContainersOnContainerExits");
  EXPECT_TRUE(fits_);
  change("n=RestartAllContainersOnContainerExits=false");
  EXPECT_FALSE(fits_);
  change("n=NodeDeclaredFeatures,RestartAllContainersOnContainerExits");
  EXPECT_TRUE(fits_);
}

}  // namespace
}  // namespace corehold
