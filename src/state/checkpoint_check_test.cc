// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_check.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

Checkpoint good() {
  return {.version = CheckpointVersion::kV3,
          .policy = "static",
          .default_set = "0-1,8-15",
          .entries = {{"db", {{"init", "2-5"}, {"main", "2-5"}}}, {"web", {{"gw", "6-7"}}}},
          .promised = {{"db", {{"init", "2-5"}, {"main", "2-3"}}}, {"web", {{"gw", "6-7"}}}},
          .checksum = 1};
}

std::string why_not(const Checkpoint& checkpoint) {
  const auto state = check_loadable(checkpoint);
  return state ? "loadable" : state.error().message;
}

TEST(CheckpointLoadable, ContainersOfOnePodMayShare) { EXPECT_EQ(why_not(good()), "loadable"); }

TEST(CheckpointLoadable, RefusesAZeroChecksum) {
  Checkpoint checkpoint = good();
  checkpoint.checksum = 0;
  EXPECT_TRUE(why_not(checkpoint).starts_with("checksum is 0, so nothing vouches for the content"));
  EXPECT_TRUE(check_content(checkpoint));
}

TEST(CheckpointLoadable, RefusesAnyOtherJson) {
  EXPECT_EQ(why_not({.checksum = 1}),
            "policyName is empty or missing: not a checkpoint of a CPU manager");
}

TEST(CheckpointLoadable, RefusesAPolicyItDoesNotKnowByName) {
  Checkpoint checkpoint = good();
  checkpoint.policy = "dyn\namic";
  EXPECT_EQ(why_not(checkpoint), R"(policyName "dyn\namic" is neither none nor static)");
  EXPECT_EQ(check_content(checkpoint).error().code, Code::kInvalid);
}

TEST(CheckpointLoadable, RefusesPodEntriesByName) {
  Checkpoint checkpoint = good();
  checkpoint.pod_entries = {{"db", "2-5"}};
  EXPECT_EQ(why_not(checkpoint),
            "podEntries gives CPUs \"2-5\" to pod db as a whole; pod-level resources are not "
            "supported, remove such pods from the node first");
  EXPECT_EQ(check_content(checkpoint).error().code, Code::kUnsupported);
}

TEST(CheckpointLoadable, NamesBothContainersThatHoldACpu) {
  Checkpoint checkpoint = good();
  checkpoint.entries["web"]["gw"] = "5-7";
  checkpoint.promised["web"]["gw"] = "6-7";
  EXPECT_EQ(why_not(checkpoint),
            "container init of pod db and container gw of pod web both hold CPUs 5");
}

TEST(CheckpointLoadable, NamesTheContainerThatOverlapsTheDefaultSet) {
  Checkpoint checkpoint = good();
  checkpoint.default_set = "0-1,7-15";
  EXPECT_EQ(why_not(checkpoint),
            "container gw of pod web holds CPUs 7, which are also in the default set 0-1,7-15");
}

TEST(CheckpointLoadable, RefusesPromisedCpusThatAreNotAssigned) {
  Checkpoint checkpoint = good();
  checkpoint.promised["db"]["main"] = "2-3,6";
  EXPECT_EQ(why_not(checkpoint),
            "container main of pod db was promised CPUs 2-3,6, but has only 2-5");
  checkpoint = good();
  checkpoint.promised["gone"]["main"] = "3";
  EXPECT_EQ(why_not(checkpoint),
            "container main of pod gone: CPUs 3 are promised, but none assigned");
}

TEST(CheckpointLoadable, RefusesAnEmptyDefaultSetWhileContainersHoldCpus) {
  Checkpoint checkpoint = good();
  checkpoint.default_set = "";
  EXPECT_EQ(why_not(checkpoint),
            "the default set is empty while containers hold CPUs 2-7: nothing is left for "
            "everybody else");
  EXPECT_EQ(why_not({.policy = "none", .checksum = 1}), "loadable");
}

TEST(CheckpointLoadable, RefusesSetsThatAreNone) {
  Checkpoint checkpoint = good();
  checkpoint.entries["db"]["main"] = "";
  checkpoint.promised["db"]["main"] = "";
  EXPECT_EQ(why_not(checkpoint), "container main of pod db is listed, but holds no CPUs");
  checkpoint.entries["db"]["main"] = "3-1";
  EXPECT_EQ(why_not(checkpoint),
            "container main of pod db: list \"3-1\": invalid range \"3-1\" (3 > 1)");
  checkpoint.entries["db"]["main"] = "5000";
  EXPECT_EQ(
      why_not(checkpoint),
      "container main of pod db: CPU 5000 is outside 0 to 4095, the CPUs corehold can handle");
}

TEST(ChecksumFactsTest, TellFoundFromComputed) {
  const std::string bytes = R"({"policyName":"static","defaultCpuSet":"0-63","checksum":7})";
  const auto facts = checksum_facts(bytes);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->version, CheckpointVersion::kV2);
  EXPECT_EQ(facts->found, 7U);
  EXPECT_EQ(facts->computed, 1058907510U);
  EXPECT_EQ(explain_failure(bytes, {Code::kCorrupt, "checkpoint is corrupted"}),
            "checksum is 7, content gives 1058907510");
  EXPECT_FALSE(checksum_facts("hello"));
  EXPECT_EQ(explain_failure("hello", {Code::kCorrupt, "why"}), "why");
}

}  // namespace
}  // namespace corehold
