// SPDX-License-Identifier: Apache-2.0
#include "features/match.h"

#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/queueing.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

const std::string kUserNamespaces = "UserNamespacesHostNetworkSupport";

class Matching : public testing::Test {
 protected:
  FeatureSet set(const std::vector<std::string>& names) { return features_of(registry_, names); }

  const Registry& registry_ = kubernetes_registry();
};

TEST_F(Matching, FitsWhenAllIsThereInAnyOrder) {
  const FeatureNode node{.name = "n", .declared_features = {kUserNamespaces, "New", kRestart}};
  EXPECT_TRUE(match_node(registry_, set({kRestart, kUserNamespaces}), &node)->fits);
  EXPECT_TRUE(match_node(registry_, registry_.none(), &node)->fits);
}

TEST_F(Matching, NamesWhatIsMissing) {
  const FeatureNode node{.name = "n", .declared_features = {"VolumeBindMountOptions"}};
  const Match found = *match_node(registry_, set({kRestart, kUserNamespaces}), &node);
  EXPECT_FALSE(found.fits);
  EXPECT_EQ(text_of(registry_, found.missing), kRestart + ", " + kUserNamespaces);
}

TEST_F(Matching, ANodeThatNobodyKnowsIsAnError) {
  EXPECT_EQ(match_node(registry_, registry_.none(), nullptr).error(),
            (Error{Code::kNotFound, "node cannot be nil"}));
}

TEST_F(Matching, CountsTheAnnotationOfNodesWithAStockKubelet) {
  const FeatureNode node{.name = "n",
                         .declared_features = {kRestart},
                         .annotations = {{"corehold.dev/declared-features",
                                          " " + kUserNamespaces + ",VolumeBindMountOptions"}}};
  EXPECT_TRUE(match_node(registry_, set({kRestart, kUserNamespaces}), &node)->fits);
}

TEST(MatchTexts, NameEveryMissingFeature) {
  const std::vector<std::string> missing = {"A", "B/c"};
  EXPECT_EQ(scheduling_message(missing), "node(s) did not match node declared features: A; B/c");
  EXPECT_EQ(admission_message(missing),
            "Pod requires node features that are not available: A, B/c");
}

TEST_F(Matching, QueuesAPodForANewNodeThatFits) {
  EXPECT_EQ(*hint_node_added(set({kRestart}), set({kRestart, kUserNamespaces})), QueueHint::kQueue);
  EXPECT_EQ(*hint_node_added(set({kRestart}), set({kUserNamespaces})), QueueHint::kSkip);
}

TEST_F(Matching, QueuesAPodForAChangedNodeOnlyOnceItFits) {
  const FeatureSet needed = set({kRestart, kUserNamespaces});
  // kube-scheduler 1.37 queues here: something changed, but a feature is still missing.
  EXPECT_EQ(*hint_node_changed(needed, set({}), set({kRestart})), QueueHint::kSkip);
  EXPECT_EQ(*hint_node_changed(needed, set({kRestart}), needed), QueueHint::kQueue);
  EXPECT_EQ(*hint_node_changed(needed, needed, set({kRestart})), QueueHint::kSkip);
  EXPECT_EQ(*hint_node_changed(needed, needed, needed), QueueHint::kSkip);
}

TEST_F(Matching, QueuesAPodThatNeedsSomethingElseNow) {
  const Pod plain = pod_with_spec(R"({"containers":[{"name":"c"}]})");
  const Pod renamed = pod_with_spec(R"({"containers":[{"name":"c","image":"i"}]})");
  const auto target = version("1.37.0");
  EXPECT_EQ(*hint_pod_changed(registry_, restart_all_pod(), plain, target), QueueHint::kQueue);
  EXPECT_EQ(*hint_pod_changed(registry_, plain, renamed, target), QueueHint::kSkip);
  EXPECT_EQ(hint_pod_changed(registry_, plain, renamed, std::nullopt).error().message,
            "target version cannot be nil");
}

TEST_F(Matching, HintsRefuseSetsOfAnotherRegistry) {
  EXPECT_EQ(hint_node_added(set({kRestart}), extension_registry().none()).error().code,
            Code::kConflict);
}

}  // namespace
}  // namespace corehold
