// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_convert.h"

#include <gtest/gtest.h>

#include "state/invariants.h"
#include "topology/testing.h"

namespace corehold {
namespace {

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

State busy() {
  return {.policy = "static",
          .shared = cpus("0-3,8-15"),
          .pods = {{"db", {{"main", {.assigned = cpus("4-7"), .promised = cpus("4-7")}}}}}};
}

// On a machine with CPUs 0-15.
ConvertRequest reserve(std::string_view list, ReservedUse use) {
  return {.reserved = ReservedChange{.cpus = cpus(list), .use = use, .online = cpus("0-15")}};
}

std::string why_not(const State& state, const ConvertRequest& request, Code code) {
  const auto result = convert_state(state, request);
  if (result) return "converted";
  EXPECT_EQ(result.error().code, code);
  return result.error().message;
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

TEST(CheckpointConvert, CpusThatAreNoLongerReservedJoinTheDefaultSet) {
  State strict = busy();
  strict.shared = cpus("2-3,8-15");
  EXPECT_EQ(convert_state(strict, reserve("2-3", ReservedUse::kSystemOnly))->shared,
            cpus("0-1,8-15"));
  EXPECT_EQ(*convert_state(strict, reserve("2-3", ReservedUse::kShared)), busy());
}

TEST(CheckpointConvert, FillsTheDefaultSetFromTheMachine) {
  ConvertRequest request = reserve("0", ReservedUse::kSystemOnly);
  request.policy = "static";
  EXPECT_EQ(*convert_state({.policy = "none"}, request),
            (State{.policy = "static", .shared = cpus("1-15")}));
}

TEST(CheckpointConvert, GivesEveryCpuOfTheMachineOneOwner) {
  const Topology topology = machine("2s4c2t");
  for (const char* reserved : {"0", "0-1", "2-3", "8,15"}) {
    for (const auto use : {ReservedUse::kShared, ReservedUse::kSystemOnly}) {
      const auto state = convert_state(busy(), reserve(reserved, use));
      ASSERT_TRUE(state) << state.error().message;
      const Rules rules{.topology = topology,
                        .reserved = cpus(reserved),
                        .strict_reservation = use == ReservedUse::kSystemOnly};
      EXPECT_TRUE(violations(*state, rules).empty()) << violations(*state, rules)[0].message;
    }
  }
}

TEST(CheckpointConvert, NeverMovesAContainerOffACpu) {
  for (const auto use : {ReservedUse::kShared, ReservedUse::kSystemOnly}) {
    EXPECT_EQ(
        why_not(busy(), reserve("0,6-8", use), Code::kConflict),
        "cannot reserve CPUs 0,6-8: container main of pod db holds CPUs 6-7 and would have to "
        "move; stop it first");
  }
}

TEST(CheckpointConvert, LeavesSomethingInTheDefaultSet) {
  EXPECT_EQ(why_not(busy(), reserve("0-3,8-15", ReservedUse::kSystemOnly), Code::kConflict),
            "cannot reserve CPUs 0-3,8-15 strictly: nothing would be left for the default set; the "
            "machine has CPUs 0-15, containers hold 4-7");
  EXPECT_EQ(convert_state(busy(), reserve("0-3,8-15", ReservedUse::kShared))->shared,
            cpus("0-3,8-15"));
}

TEST(CheckpointConvert, RefusesToReserveCpusThatTheMachineLacks) {
  for (const auto use : {ReservedUse::kShared, ReservedUse::kSystemOnly}) {
    EXPECT_EQ(why_not(busy(), reserve("0,100", use), Code::kInvalid),
              "cannot reserve CPUs 0,100: the machine lacks CPUs 100; it has CPUs 0-15");
  }
}

TEST(CheckpointConvert, RefusesAStateWithCpusThatTheMachineLacks) {
  State state = busy();
  state.shared = cpus("0-3,8-31");
  const ConvertRequest request = reserve("0", ReservedUse::kShared);
  EXPECT_EQ(why_not(state, request, Code::kConflict),
            "the default set holds CPUs 16-31, which the machine lacks; it has CPUs 0-15");
  state = busy();
  state.pods.set("db", "main", {.assigned = cpus("4-7,20"), .promised = cpus("4-7")});
  EXPECT_EQ(why_not(state, request, Code::kConflict),
            "container main of pod db holds CPUs 20, which the machine lacks; it has CPUs 0-15");
}

TEST(CheckpointConvert, ReservesOnlyForPolicyStaticAndNeverNothing) {
  State idle = busy();
  idle.pods.clear();
  ConvertRequest request = reserve("0-1", ReservedUse::kSystemOnly);
  request.policy = "none";
  EXPECT_EQ(why_not(idle, request, Code::kInvalid),
            "cannot reserve CPUs 0-1: policy none reserves none");
  EXPECT_EQ(why_not(busy(), reserve("", ReservedUse::kShared), Code::kInvalid),
            "no CPUs to reserve: policy static needs at least one");
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
