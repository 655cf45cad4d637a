// SPDX-License-Identifier: Apache-2.0
#include "agent/view/pod_names.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

class PodNamesTest : public testing::Test {
 protected:
  void add(const std::string& uid, const std::string& namespace_name, const std::string& name) {
    node_.running.pods[uid].record.pod = {
        .name = name, .namespace_name = namespace_name, .uid = uid};
  }
  void touch(const std::vector<std::string>& uids) { names_.follow(node_, uids); }
  std::string uid_of(std::string_view namespace_name, std::string_view name) {
    const RunPod* pod = names_.find(node_, namespace_name, name);
    return pod == nullptr ? "" : pod->record.pod.uid;
  }

  NodeState node_;
  PodNames names_;
};

TEST_F(PodNamesTest, APodIsFoundByNamespaceAndName) {
  add("u1", "n", "a");
  add("u2", "m", "a");
  touch({"u1", "u2"});
  EXPECT_EQ(uid_of("n", "a"), "u1");
  EXPECT_EQ(uid_of("m", "a"), "u2");
  EXPECT_EQ(uid_of("n", "b"), "");
}

TEST_F(PodNamesTest, APodThatHasGoneIsFoundNoMore) {
  add("u1", "n", "a");
  touch({"u1"});
  node_.running.pods.clear();
  touch({"u1"});
  EXPECT_EQ(uid_of("n", "a"), "");
  EXPECT_TRUE(names_.has_same_names(PodNames::of(node_)));
}

TEST_F(PodNamesTest, OfTwoPodsWithOneNameTheLowestUidIsFound) {
  add("u2", "n", "a");
  touch({"u2"});
  add("u1", "n", "a");
  touch({"u1"});
  EXPECT_EQ(uid_of("n", "a"), "u1");
  node_.running.pods.erase("u1");
  touch({"u1"});
  EXPECT_EQ(uid_of("n", "a"), "u2");
}

TEST_F(PodNamesTest, TheVersionChangesOnlyWhenAPodComesOrGoes) {
  const std::uint64_t first = names_.version();
  add("u1", "n", "a");
  touch({"u1"});
  const std::uint64_t second = names_.version();
  EXPECT_NE(second, first);
  node_.running.pods["u1"].record.generation = 2;
  touch({"u1", "u7"});
  EXPECT_EQ(names_.version(), second);
  node_.running.pods.clear();
  touch({"u1"});
  EXPECT_NE(names_.version(), second);
}

TEST_F(PodNamesTest, WhatWasNotFollowedIsADifference) {
  add("u1", "n", "a");
  EXPECT_FALSE(names_.has_same_names(PodNames::of(node_)));
  touch({"u1"});
  EXPECT_TRUE(names_.has_same_names(PodNames::of(node_)));
}

}  // namespace
}  // namespace corehold
