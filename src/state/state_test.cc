// SPDX-License-Identifier: Apache-2.0
#include "state/state.h"

#include <gtest/gtest.h>

#include "state/invariants.h"
#include "topology/testing.h"

namespace corehold {
namespace {

Holding holding(std::string_view list) { return {.assigned = cpus(list), .promised = cpus(list)}; }

TEST(StateEdits, AssignPromisesWhatItGives) {
  State state{.shared = cpus("0-7")};
  apply(state, Assign{{"p", "c"}, cpus("2-3")});
  EXPECT_EQ(*state.find({"p", "c"}), holding("2-3"));
  EXPECT_EQ(state.exclusive(), cpus("2-3"));
}

TEST(StateEdits, ForgettingTwiceIsHarmless) {
  State state;
  apply(state, Assign{{"p", "c"}, cpus("2-3")});
  apply(state, Forget{{"p", "c"}});
  apply(state, Forget{{"p", "c"}});
  EXPECT_EQ(state, State{});
}

TEST(StateEdits, ReassignKeepsThePromiseAndEndsAShrink) {
  State state;
  apply(state, Assign{{"p", "c"}, cpus("2-3")});
  apply(state, Reassign{{"p", "c"}, cpus("2-5")});
  EXPECT_EQ(*state.find({"p", "c"}), (Holding{.assigned = cpus("2-5"), .promised = cpus("2-3")}));
  apply(state, SetPending{{"p", "c"}, cpus("2-4")});
  EXPECT_EQ(state.find({"p", "c"})->pending, cpus("2-4"));
  EXPECT_EQ(state.find({"p", "c"})->assigned, cpus("2-5"));
  apply(state, Reassign{{"p", "c"}, cpus("2-4")});
  EXPECT_EQ(*state.find({"p", "c"}), (Holding{.assigned = cpus("2-4"), .promised = cpus("2-3")}));
  apply(state, SetPending{{"p", "c"}, cpus("2-3")});
  apply(state, SetPending{{"p", "c"}, std::nullopt});
  EXPECT_FALSE(state.find({"p", "c"})->pending);
}

TEST(StateEdits, WhoHoldsNothingCannotBeResized) {
  State state;
  apply(state, Reassign{{"p", "c"}, cpus("2-5")});
  apply(state, SetPending{{"p", "c"}, cpus("2")});
  EXPECT_EQ(state, State{});
}

class StateInvariants : public testing::Test {
 protected:
  std::string first_violation(const State& state) const {
    const auto found = violations(state, rules_);
    return found.empty() ? "" : found.front().message;
  }

  const Topology topology_ = machine("1s4c2t");
  Rules rules_{.topology = topology_, .reserved = cpus("0")};
};

TEST_F(StateInvariants, HoldForASoundState) {
  State state{.shared = cpus("0-3,6-7")};
  state.pods["p"]["c"] = holding("4-5");
  EXPECT_EQ(first_violation(state), "");
}

TEST_F(StateInvariants, EveryCpuBelongsToExactlyOne) {
  EXPECT_EQ(first_violation({.shared = cpus("0-6")}), "CPUs 7 belong to nobody");
  EXPECT_EQ(first_violation({.shared = cpus("0-8")}), "CPUs 8 are not on this machine");
  State twice{.shared = cpus("0-7")};
  twice.pods["p"]["c"] = holding("7");
  EXPECT_EQ(first_violation(twice), "CPUs 7 of pod p belong to somebody else too");
}

TEST_F(StateInvariants, ContainersOfOnePodMayOverlap) {
  State state{.shared = cpus("0-3,6-7")};
  state.pods["p"]["init"] = holding("4-5");
  state.pods["p"]["main"] = holding("4");
  EXPECT_EQ(first_violation(state), "");
}

TEST_F(StateInvariants, OnlyInitContainersShareWithOthersOfTheirPod) {
  State state{.shared = cpus("0-3,6-7")};
  state.pods["p"]["init"] = holding("4-5");
  state.pods["p"]["main"] = holding("4-5");
  rules_.init_containers = std::set<ContainerRef>{ContainerRef{"p", "init"}};
  EXPECT_EQ(first_violation(state), "");
  state.pods["p"]["side"] = holding("5");
  EXPECT_EQ(first_violation(state),
            "CPUs 5 of container side of pod p belong to somebody else too");
}

TEST_F(StateInvariants, ReservedCpusAreNeverGiven) {
  State state{.shared = cpus("1-7")};
  state.pods["p"]["c"] = holding("0");
  EXPECT_EQ(first_violation(state), "container c of pod p holds reserved CPUs 0");
}

TEST_F(StateInvariants, StrictlyReservedCpusAreNobodysElse) {
  rules_.strict_reservation = true;
  EXPECT_EQ(first_violation({.shared = cpus("1-7")}), "");
  EXPECT_EQ(first_violation({.shared = cpus("0-7")}),
            "CPUs 0 of the reserved set belong to somebody else too");
}

TEST_F(StateInvariants, PromisedIsKeptAndPendingLiesBetween) {
  State state{.shared = cpus("0-3")};
  state.pods["p"]["c"] = {.assigned = cpus("4-7"), .promised = cpus("3-4")};
  EXPECT_EQ(first_violation(state), "container c of pod p is promised 3-4 but has 4-7");
  state.pods["p"]["c"] = {.assigned = cpus("4-7"), .promised = cpus("4"), .pending = cpus("4-5")};
  EXPECT_EQ(first_violation(state), "");
  for (const char* pending : {"4-7", "5-6", "3-4"}) {
    state.pods["p"]["c"].pending = cpus(pending);
    EXPECT_NE(first_violation(state), "") << pending;
  }
}

TEST_F(StateInvariants, CoresAreWholeWhenTheyMustBe) {
  State state{.shared = cpus("0-4")};
  state.pods["p"]["c"] = holding("5-7");
  EXPECT_EQ(first_violation(state), "");
  rules_.full_pcpus_only = true;
  EXPECT_EQ(first_violation(state), "container c of pod p holds 5, parts of cores");
}

TEST_F(StateInvariants, TheSharedPoolIsNotEmpty) {
  rules_.reserved = {};
  State state;
  state.pods["p"]["c"] = holding("0-7");
  EXPECT_EQ(first_violation(state), "the shared pool is empty");
}

}  // namespace
}  // namespace corehold
