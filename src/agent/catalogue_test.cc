// SPDX-License-Identifier: Apache-2.0
#include "agent/catalogue.h"

#include <utility>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

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
  PodState& add(const std::string& uid, const std::string& name) {
    PodState& pod = node_.pods[uid];
    pod.record.pod = {
        .name = name, .namespace_name = "n", .uid = uid, .containers = {{.name = "main"}}};
    pod.record.containers["main"] = {};
    pod.containers["main"] = {};
    pod.in_store = true;
    return pod;
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
  int changes_ = 0;
};

TEST_F(CatalogueTest, APodHasANewVersionOnlyWhenItLooksDifferent) {
  PodState& pod = add("u1", "a");
  catalogue_.follow(node_);
  const auto first = catalogue_.log(Resource::kPods).find("n", "a")->version();
  EXPECT_GT(first, kFirst);
  EXPECT_EQ(changes_, 1);
  catalogue_.follow(node_);
  pod.tried = 7;
  catalogue_.follow(node_);
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
  EXPECT_EQ(changes_, 1);
  pod.containers["main"].stage = Stage::kRunning;
  catalogue_.follow(node_);
  EXPECT_GT(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
  EXPECT_EQ(changes_, 2);
}

TEST_F(CatalogueTest, ARestartOfAllContainersIsSeenToBeginAndToEnd) {
  PodState& pod = add("u1", "a");
  catalogue_.follow(node_);
  for (const bool under_way : {true, false}) {
    pod.record.restart_all = {.under_way = under_way, .since = std::chrono::hours(1)};
    const auto before = catalogue_.log(Resource::kPods).find("n", "a")->version();
    catalogue_.follow(node_);
    EXPECT_GT(catalogue_.log(Resource::kPods).find("n", "a")->version(), before);
  }
}

TEST_F(CatalogueTest, EveryTurnOfAResizeIsANewVersion) {
  PodState& pod = add("u1", "a");
  std::uint64_t last = 0;
  const auto is_new = [&] {
    catalogue_.follow(node_);
    const auto version = catalogue_.log(Resource::kPods).find("n", "a")->version();
    catalogue_.follow(node_);
    EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), version);
    return std::exchange(last, version) < version;
  };
  EXPECT_TRUE(is_new());
  pod.record.wish = ResizeWish{.resources = {{"main", {}}}, .since = 1ms};
  EXPECT_TRUE(is_new());
  pod.resize.verdict = ResizeVerdict::kDeferred;
  EXPECT_TRUE(is_new());
  pod.resize.message = "somebody has them";
  EXPECT_TRUE(is_new());
  pod.record.wish->since = 2ms;
  EXPECT_TRUE(is_new());
  pod.record.wish.reset();
  EXPECT_TRUE(is_new());
  pod.record.containers["main"].actual.emplace();
  EXPECT_TRUE(is_new());
  pod.resize.errors[""] = "cannot write the pod's files: no space left";
  EXPECT_TRUE(is_new());
  EXPECT_NE(catalogue_.log(Resource::kPods).find("n", "a")->item().find("no space left"),
            std::string::npos);
  pod.resize.errors.clear();
  EXPECT_TRUE(is_new());
  pod.record.containers["main"].actual.reset();
  EXPECT_TRUE(is_new());
}

TEST_F(CatalogueTest, OtherPodsKeepTheirVersions) {
  add("u1", "a");
  PodState& other = add("u2", "b");
  catalogue_.follow(node_);
  const auto first = catalogue_.log(Resource::kPods).find("n", "a")->version();
  ++other.edits;
  catalogue_.follow(node_);
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a")->version(), first);
}

TEST_F(CatalogueTest, APodThatIsNotStoredYetIsNotThere) {
  add("u1", "a").in_store = false;
  catalogue_.follow(node_);
  EXPECT_EQ(catalogue_.log(Resource::kPods).find("n", "a"), nullptr);
  node_.pods["u1"].containers["main"].stage = Stage::kRunning;
  catalogue_.follow(node_);
  EXPECT_NE(catalogue_.log(Resource::kPods).find("n", "a"), nullptr);
}

TEST_F(CatalogueTest, WhatGoesIsToldAndItsNamespaceGoesToo) {
  add("u1", "a");
  catalogue_.follow(node_);
  EXPECT_NE(catalogue_.log(Resource::kNamespaces).find("", "n"), nullptr);
  node_.pods.clear();
  catalogue_.follow(node_);
  EXPECT_EQ(told(), (std::vector<std::string>{"ADDED a u1", "DELETED a u1"}));
  EXPECT_EQ(catalogue_.log(Resource::kNamespaces).find("", "n"), nullptr);
  EXPECT_NE(catalogue_.log(Resource::kNamespaces).find("", "default"), nullptr);
}

TEST_F(CatalogueTest, APodThatTakesTheNameOfOneThatWentIsAnotherVersionOfTheName) {
  add("u1", "a");
  catalogue_.follow(node_);
  node_.pods.clear();
  add("u0", "a");
  catalogue_.follow(node_);
  EXPECT_EQ(told(), (std::vector<std::string>{"ADDED a u1", "DELETED a u1", "ADDED a u0"}));
}

TEST_F(CatalogueTest, EveryListSpeaksOfTheNewestVersion) {
  add("u1", "a");
  catalogue_.follow(node_);
  EXPECT_EQ(catalogue_.log(Resource::kNodes).version(), catalogue_.log(Resource::kPods).version());
}

}  // namespace
}  // namespace corehold
