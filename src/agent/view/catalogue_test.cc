// SPDX-License-Identifier: Apache-2.0
#include "agent/view/catalogue.h"

#include <set>
#include <utility>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;

class CatalogueTest : public testing::Test {
 protected:
  CatalogueTest() : topology_(machine("1s4c2t")), setup_(make()), facts_{.setup = setup_} {
    catalogue_.on_change = [this] { ++changes_; };
  }

  NodeSetup make() {
    auto setup = NodeSetup::make(topology_, planning_defaults(topology_));
    EXPECT_TRUE(setup) << setup.error().message;
    return *std::move(setup);
  }
  RunPod& add(const std::string& uid, const std::string& name) {
    uids_.insert(uid);
    RunPod& pod = node_.running.pods[uid];
    node_.placing.pods[uid];
    pod.record.pod = {
        .name = name, .namespace_name = "n", .uid = uid, .containers = {{.name = "main"}}};
    pod.record.containers["main"] = {};
    pod.containers["main"] = {};
    pod.store.has_any = true;
    return pod;
  }
  // All pods, those that have gone too.
  void follow() {
    catalogue_.follow(node_, std::vector<std::string>(uids_.begin(), uids_.end()));
    EXPECT_THAT(catalogue_.differences(node_), IsEmpty());
  }
  // What a watch from the beginning is told of pods: "ADDED a 3", ...
  std::vector<std::string> told() {
    const WatchLog& log = catalogue_.log(Resource::kPods);
    Watch watch = log.watch({.version = kFirst}, {});
    std::vector<std::string> lines;
    for (const WatchLine& line : log.take(watch, 0ms).lines) {
      const json::value event = json::parse(*line);
      const json::value& metadata = event.at("object").at("metadata");
      lines.push_back(std::string(event.at("type").as_string()) + " " +
                      std::string(metadata.at("name").as_string()) + " " +
                      std::string(metadata.at("uid").as_string()));
    }
    return lines;
  }

  static constexpr std::uint64_t kFirst = 100;
  Topology topology_;
  NodeSetup setup_;
  NodeFacts facts_;
  Catalogue catalogue_{facts_, kFirst};
  NodeState node_;
  std::set<std::string> uids_;
  int changes_ = 0;
};

TEST_F(CatalogueTest, APodHasANewVersionOnlyWhenItLooksDifferent) {
  RunPod& pod = add("u1", "a");
  follow();
  const auto first = catalogue_.log(Resource::kPods).find("n", "a")->version();
  EXPECT_GT(first, kFirst);
  EXPECT_EQ(changes_, 1);
  follow();
  node_.placing.pods["u1"].tried = 7;
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
  EXPECT_EQ(changes_, 1);
  pod.containers["main"].stage = Stage::kRunning;
  follow();
  EXPECT_GT(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
  EXPECT_EQ(changes_, 2);
}

TEST_F(CatalogueTest, ARestartOfAllContainersIsSeenToBeginAndToEnd) {
  RunPod& pod = add("u1", "a");
  follow();
  for (const bool under_way : {true, false}) {
    pod.record.restart_all = {.under_way = under_way, .since = std::chrono::hours(1)};
    const auto before = catalogue_.log(Resource::kPods).find("n", "a")->version();
    follow();
    EXPECT_GT(catalogue_.log(Resource::kPods).find("n", "a")->version(), before);
  }
}

TEST_F(CatalogueTest, EveryTurnOfAResizeIsANewVersion) {
  RunPod& pod = add("u1", "a");
  std::uint64_t last = 0;
  const auto is_new = [&] {
    follow();
    const auto version = catalogue_.log(Resource::kPods).find("n", "a")->version();
    follow();
    EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), version);
    return std::exchange(last, version) < version;
  };
  EXPECT_TRUE(is_new());
  const Resources larger{.limits = {{"cpu", Quantity::of(2)}}};
  pod.record.wish = ResizeWish{.resources = {{"main", larger}}, .since = 1s};
  EXPECT_TRUE(is_new());
  node_.placing.pods["u1"].resize.verdict = ResizeVerdict::kDeferred;
  EXPECT_TRUE(is_new());
  node_.placing.pods["u1"].resize.message = "somebody has them";
  EXPECT_TRUE(is_new());
  pod.record.wish->since = 2s;
  EXPECT_TRUE(is_new());
  pod.record.wish.reset();
  EXPECT_TRUE(is_new());
  pod.record.containers["main"].actual.emplace();
  EXPECT_TRUE(is_new());
  node_.placing.pods["u1"].resize.errors[""] = "cannot write the pod's files: no space left";
  EXPECT_TRUE(is_new());
  EXPECT_NE(catalogue_.log(Resource::kPods).find("n", "a")->item().find("no space left"),
            std::string::npos);
  node_.placing.pods["u1"].resize.errors.clear();
  EXPECT_TRUE(is_new());
  pod.record.containers["main"].actual.reset();
  EXPECT_TRUE(is_new());
}

TEST_F(CatalogueTest, OtherPodsKeepTheirVersions) {
  add("u1", "a");
  RunPod& other = add("u2", "b");
  follow();
  const auto first = catalogue_.log(Resource::kPods).find("n", "a")->version();
  ++other.edits;
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
}

TEST_F(CatalogueTest, APodThatIsNotStoredYetIsNotThere) {
  add("u1", "a").store.has_any = false;
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a"), nullptr);
  node_.running.pods["u1"].containers["main"].stage = Stage::kRunning;
  follow();
  EXPECT_NE(catalogue_.log(Resource::kPods).find("n", "a"), nullptr);
}

TEST_F(CatalogueTest, WhatGoesIsToldAndItsNamespaceGoesToo) {
  add("u1", "a");
  follow();
  EXPECT_NE(catalogue_.log(Resource::kNamespaces).find("", "n"), nullptr);
  node_.running.pods.clear();
  follow();
  EXPECT_EQ(told(), (std::vector<std::string>{"ADDED a u1", "DELETED a u1"}));
  EXPECT_EQ(catalogue_.log(Resource::kNamespaces).find("", "n"), nullptr);
  EXPECT_NE(catalogue_.log(Resource::kNamespaces).find("", "default"), nullptr);
}

TEST_F(CatalogueTest, APodThatTakesTheNameOfADeletedPodIsANewVersionOfTheName) {
  add("u1", "a");
  follow();
  node_.running.pods.clear();
  add("u0", "a");
  follow();
  EXPECT_EQ(told(), (std::vector<std::string>{"ADDED a u1", "DELETED a u1", "ADDED a u0"}));
}

TEST_F(CatalogueTest, OnlyTouchedPodsAreRendered) {
  RunPod& pod = add("u1", "a");
  add("u2", "b");
  follow();
  pod.record.pod.labels["new"] = "label";
  const std::vector<std::string> other{"u2"};
  const auto first = catalogue_.log(Resource::kPods).find("n", "a")->version();
  catalogue_.follow(node_, other);
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
  EXPECT_THAT(catalogue_.differences(node_), ElementsAre("pod n/a is not shown as it is now"));
  follow();
  EXPECT_GT(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
}

TEST_F(CatalogueTest, APodThatComesOrGoesUntouchedIsADifference) {
  add("u1", "a");
  EXPECT_THAT(catalogue_.differences(node_),
              ElementsAre("pod n/a is not shown", "0 pods are shown, there are 1",
                          "namespace n is not shown", "1 namespaces are shown, there are 2"));
  follow();
  node_.running.pods.clear();
  EXPECT_THAT(catalogue_.differences(node_),
              ElementsAre("1 pods are shown, there are 0", "2 namespaces are shown, there are 1"));
}

TEST_F(CatalogueTest, ANamespaceStaysUntilItsLastPodHasGone) {
  add("u1", "a");
  add("u2", "b");
  follow();
  const auto version = catalogue_.log(Resource::kNamespaces).find("", "n")->version();
  node_.running.pods.erase("u1");
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kNamespaces).find("", "n")->version(), version);
  node_.running.pods.erase("u2");
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kNamespaces).find("", "n"), nullptr);
}

TEST_F(CatalogueTest, EveryListSpeaksOfTheNewestVersion) {
  add("u1", "a");
  follow();
  EXPECT_EQ(catalogue_.log(Resource::kNodes).version(), catalogue_.log(Resource::kPods).version());
}

}  // namespace
}  // namespace corehold
