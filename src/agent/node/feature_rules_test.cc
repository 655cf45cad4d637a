// SPDX-License-Identifier: Apache-2.0
#include "agent/node/feature_rules.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace json = boost::json;

constexpr const char* kRestartAll = "RestartAllContainersOnContainerExits";
constexpr const char* kPodLevel = "InPlacePodLevelResourcesVerticalScaling";

class FeatureRules : public testing::Test {
 protected:
  FeatureRules() : topology_(machine("1s4c2t")), config_(planning_defaults(topology_)) {}

  static Pod pod(const std::string& cpus, const std::string& node = "box") {
    auto made = pod_from_json(pod_json(cpus, node));
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  static json::object pod_json(const std::string& cpus, const std::string& node) {
    const json::object amounts{{"cpu", cpus}, {"memory", "1Gi"}};
    json::object container{{"name", "c"},
                           {"resources", json::object{{"limits", amounts}, {"requests", amounts}}}};
    json::object spec{{"containers", json::array{std::move(container)}}};
    if (!node.empty()) spec["nodeName"] = node;
    return {{"metadata", json::object{{"name", "p"}, {"namespace", "default"}, {"uid", "u"}}},
            {"spec", std::move(spec)}};
  }
  // "" for an update that may be made.
  std::string refusal(const Pod& before, const Pod& after, std::string_view subresource = "resize",
                      const Pod* allocated = nullptr) {
    const auto setup = NodeSetup::make(topology_, config_);
    EXPECT_TRUE(setup);
    const NodeFacts facts{.setup = *setup, .name = "box", .features = own_features(config_)};
    const auto refused = refuse_update(
        facts,
        {.current = before, .next = after, .allocated = allocated, .subresource = subresource});
    return refused ? refused->message : "";
  }

  Topology topology_;
  Config config_;
};

TEST_F(FeatureRules, DeclareNothingWithTheGateOff) {
  config_.gates.set(Gate::kRestartAllContainersOnContainerExits, true);
  ASSERT_TRUE(own_features(config_));
  EXPECT_THAT(own_features(config_)->names(), ElementsAre(kRestartAll));
  config_.gates.set(Gate::kNodeDeclaredFeatures, false);
  EXPECT_FALSE(own_features(config_));
}

TEST_F(FeatureRules, DeclareWhatTheNodeHasAndNoMore) {
  EXPECT_THAT(own_features(config_)->names(), IsEmpty());
  config_.gates.set(Gate::kDownwardApiAssignedResources, true);
  config_.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, true);
  config_.gates.others[kPodLevel] = true;
  config_.gates.others["DRAOptionalNodeOperations"] = false;
  config_.cpu_manager_policy = CpuManagerPolicy::kStatic;
  EXPECT_THAT(
      own_features(config_)->names(),
      ElementsAre("DownwardAPIAssignedResources", "InPlacePodVerticalScalingExclusiveCPUs"));
  config_.cpu_manager_policy = CpuManagerPolicy::kNone;
  EXPECT_THAT(own_features(config_)->names(), ElementsAre("DownwardAPIAssignedResources"));
}

TEST_F(FeatureRules, RefuseAResizeOfExclusiveCpusWithoutItsGate) {
  config_.cpu_manager_policy = CpuManagerPolicy::kStatic;
  const std::string text =
      "pods \"p\" is forbidden: pod update requires features "
      "InPlacePodVerticalScalingExclusiveCPUs which are not available on node \"box\"";
  EXPECT_EQ(refusal(pod("2"), pod("3")), text);
  EXPECT_EQ(refusal(pod("2"), pod("3"), ""), text);
  EXPECT_EQ(refusal(pod("2"), pod("3"), "status"), "");
  EXPECT_EQ(refusal(pod("2"), pod("2")), "");
  EXPECT_EQ(refusal(pod("2", ""), pod("3", "")), "") << "not bound";
  config_.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, true);
  EXPECT_EQ(refusal(pod("2"), pod("3")), "");
}

TEST_F(FeatureRules, LetAWishBeTakenBack) {
  config_.cpu_manager_policy = CpuManagerPolicy::kStatic;
  const Pod allocated = pod("2", "");
  EXPECT_EQ(refusal(pod("4"), pod("2"), "resize", &allocated), "");
  EXPECT_NE(refusal(pod("4"), pod("3"), "resize", &allocated), "");
  EXPECT_NE(refusal(pod("2"), pod("4"), "resize", &allocated), "");
  // An update of something else is no wish, whatever still waits.
  json::object text = pod_json("4", "box");
  text["spec"].as_object()["activeDeadlineSeconds"] = 9;
  const auto other = pod_from_json(text);
  ASSERT_TRUE(other);
  EXPECT_EQ(refusal(pod("4"), *other, "", &allocated), "");
}

TEST_F(FeatureRules, LetEverythingPassThatPinsNothingOrAsksNothing) {
  config_.cpu_manager_policy = CpuManagerPolicy::kNone;
  EXPECT_EQ(refusal(pod("2"), pod("3")), "");
  config_.cpu_manager_policy = CpuManagerPolicy::kStatic;
  EXPECT_NE(refusal(pod("2"), pod("3")), "");
  config_.gates.set(Gate::kNodeDeclaredFeatures, false);
  EXPECT_EQ(refusal(pod("2"), pod("3")), "");
}

}  // namespace
}  // namespace corehold
