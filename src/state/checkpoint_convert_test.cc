// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_convert.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

State busy() {
  return {.policy = "static",
          .shared = cpus("0-3,8-15"),
          .pods = {{"db", {{"main", {.assigned = cpus("4-7"), .promised = cpus("4-7")}}}}}};
}

ConvertRequest reserve(std::string_view list, ReservedUse use) {
  return {.reserved = ReservedChange{.cpus = cpus(list), .use = use}};
}

TEST(CheckpointConvert, StrictReservedCpusLeaveTheDefaultSet) {
  const auto state = convert_state(busy(), reserve("0-1", ReservedUse::kSystemOnly));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->shared, cpus("2-3,8-15"));
  EXPECT_EQ(state->pods, busy().pods);
}

TEST(CheckpointConvert, OtherwiseTheyJoinIt) {
  State strict = busy();
  strict.shared = cpus("2-3,8-15");
  EXPECT_EQ(*convert_state(strict, reserve("0-1", ReservedUse::kShared)), busy());
}

TEST(CheckpointConvert, NeverMovesAContainerOffACpu) {
  for (const auto use : {ReservedUse::kShared, ReservedUse::kSystemOnly}) {
    const auto state = convert_state(busy(), reserve("0,6-8", use));
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().code, Code::kConflict);
    EXPECT_EQ(
        state.error().message,
        "cannot reserve CPUs 0,6-8: container main of pod db holds CPUs 6-7 and would have to "
        "move; stop it first");
  }
}

TEST(CheckpointConvert, LeavesSomethingInTheDefaultSet) {
  const auto state = convert_state(busy(), reserve("0-3,8-15", ReservedUse::kSystemOnly));
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message,
            "cannot reserve CPUs 0-3,8-15 strictly: nothing would be left of the default set "
            "0-3,8-15");
}

TEST(CheckpointConvert, RefusesAnotherPolicyWhileContainersHoldCpus) {
  const auto state = convert_state(busy(), {.policy = "none"});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message,
            "cannot change policy static to none: container main of pod db holds CPUs 4-7; stop it "
            "first");
  EXPECT_EQ(*convert_state(busy(), {.policy = "static"}), busy());
}

TEST(CheckpointConvert, AnotherPolicyStartsFromNothing) {
  State idle = busy();
  idle.pods.clear();
  EXPECT_EQ(*convert_state(idle, {.policy = "none"}), (State{.policy = "none"}));
  EXPECT_EQ(convert_state(idle, {.policy = "dynamic"}).error().message,
            "policy \"dynamic\" is neither none nor static");
}

}  // namespace
}  // namespace corehold
