// SPDX-License-Identifier: Apache-2.0
#include "state/state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "state/invariants.h"
#include "state/state_delta.h"
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

TEST(CpuHoldings, KnowsWhatIsHeldAndWhatSeveralHold) {
  CpuHoldings held;
  held.set("p", "init", holding("2-5"));
  held.set("p", "main", holding("2-3"));
  held.set("q", "main", holding("3,6"));
  EXPECT_EQ(held.containers(), 3U);
  EXPECT_EQ(held.held(), cpus("2-6"));
  EXPECT_EQ(held.held_by_several(), cpus("2-3"));
  held.erase("p", "init");
  EXPECT_EQ(held.held(), cpus("2-3,6"));
  EXPECT_EQ(held.held_by_several(), cpus("3"));
  held.set("q", "main", holding("6"));
  EXPECT_EQ(held.held_by_several(), CpuSet());
  held.erase("q");
  EXPECT_EQ(held, (CpuHoldings{{"p", {{"main", holding("2-3")}}}}));
  EXPECT_EQ(held.held(), cpus("2-3"));
}

RC_GTEST_PROP(CpuHoldings, CountsAsALookAtEveryContainerDoes, ()) {
  const auto chance = [](int most) { return *rc::gen::inRange(0, most + 1); };
  CpuHoldings held;
  for (int steps = chance(40); steps > 0; --steps) {
    const std::string pod = std::to_string(chance(3));
    const std::string container = std::to_string(chance(2));
    Holding some;
    for (int i = chance(4); i > 0; --i) some.assigned.insert(CpuId(chance(9)));
    const int what = chance(4);
    if (what == 0) {
      held.erase(pod, container);
    } else if (what == 1) {
      held.erase(pod);
    } else if (what == 2) {
      held.set(pod, PodHoldings{{container, some}, {"other", some}});
    } else {
      held.set(pod, container, some);
    }
  }
  CpuSet once;
  CpuSet several;
  std::size_t containers = 0;
  for (const auto& [pod, holdings] : held) {
    for (const auto& [name, each] : holdings) {
      several |= once & each.assigned;
      once |= each.assigned;
      ++containers;
    }
  }
  RC_ASSERT(held.held() == once);
  RC_ASSERT(held.held_by_several() == several);
  RC_ASSERT(held.containers() == containers);
}

TEST(StateDelta, BringsACopyInStep) {
  State state{.shared = cpus("0-7")};
  apply(state, Assign{{"stays", "c"}, cpus("1")});
  apply(state, Assign{{"goes", "c"}, cpus("2")});
  State copy = state;
  apply(state, Forget{{"goes", "c"}});
  apply(state, Assign{{"comes", "c"}, cpus("3-4")});
  apply(state, SetPending{{"comes", "c"}, cpus("3")});
  apply(state, SetShared{cpus("0,2,5-7")});
  const StateDelta delta = delta_of(state, {"comes", "goes", "unknown"});
  EXPECT_EQ(delta.pods.size(), 3U);
  EXPECT_FALSE(delta.pods.at("goes"));
  apply(copy, delta);
  EXPECT_EQ(copy, state);
  EXPECT_EQ(copy.exclusive(), cpus("1,3-4"));
  apply(copy, delta);
  EXPECT_EQ(copy, state);
}

TEST(StateDelta, OfAllPodsReplacesWhateverWasThere) {
  State state{.policy = "static", .shared = cpus("0,2-7")};
  apply(state, Assign{{"stays", "c"}, cpus("1")});
  State other{.policy = "none", .shared = cpus("0-7")};
  apply(other, Assign{{"unknown", "c"}, cpus("1-2")});
  apply(other, whole_delta(state));
  EXPECT_EQ(other, state);
  EXPECT_EQ(other.exclusive(), cpus("1"));
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
  state.pods.set("p", "c", holding("4-5"));
  EXPECT_EQ(first_violation(state), "");
}

TEST_F(StateInvariants, EveryCpuBelongsToExactlyOne) {
  EXPECT_EQ(first_violation({.shared = cpus("0-6")}), "CPUs 7 belong to nobody");
  EXPECT_EQ(first_violation({.shared = cpus("0-8")}), "CPUs 8 are not on this machine");
  State twice{.shared = cpus("0-7")};
  twice.pods.set("p", "c", holding("7"));
  EXPECT_EQ(first_violation(twice), "CPUs 7 of pod p belong to somebody else too");
}

TEST_F(StateInvariants, ContainersOfOnePodMayOverlap) {
  State state{.shared = cpus("0-3,6-7")};
  state.pods.set("p", "init", holding("4-5"));
  state.pods.set("p", "main", holding("4"));
  EXPECT_EQ(first_violation(state), "");
}

TEST_F(StateInvariants, OnlyInitContainersShareWithOthersOfTheirPod) {
  State state{.shared = cpus("0-3,6-7")};
  state.pods.set("p", "init", holding("4-5"));
  state.pods.set("p", "main", holding("4-5"));
  rules_.init_containers = std::set<ContainerRef>{ContainerRef{"p", "init"}};
  EXPECT_EQ(first_violation(state), "");
  state.pods.set("p", "side", holding("5"));
  EXPECT_EQ(first_violation(state),
            "CPUs 5 of container side of pod p belong to somebody else too");
}

TEST_F(StateInvariants, ReservedCpusAreNeverGiven) {
  State state{.shared = cpus("1-7")};
  state.pods.set("p", "c", holding("0"));
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
  state.pods.set("p", "c", {.assigned = cpus("4-7"), .promised = cpus("3-4")});
  EXPECT_EQ(first_violation(state), "container c of pod p is promised 3-4 but has 4-7");
  state.pods.set("p", "c",
                 {.assigned = cpus("4-7"), .promised = cpus("4"), .pending = cpus("4-5")});
  EXPECT_EQ(first_violation(state), "");
  for (const char* pending : {"4-7", "5-6", "3-4"}) {
    apply(state, SetPending{{"p", "c"}, cpus(pending)});
    EXPECT_NE(first_violation(state), "") << pending;
  }
}

TEST_F(StateInvariants, CoresAreWholeWhenTheyMustBe) {
  State state{.shared = cpus("0-4")};
  state.pods.set("p", "c", holding("5-7"));
  EXPECT_EQ(first_violation(state), "");
  rules_.full_pcpus_only = true;
  EXPECT_EQ(first_violation(state), "container c of pod p holds 5, parts of cores");
}

TEST_F(StateInvariants, TheSharedPoolIsNotEmpty) {
  rules_.reserved = {};
  State state;
  state.pods.set("p", "c", holding("0-7"));
  EXPECT_EQ(first_violation(state), "the shared pool is empty");
}

}  // namespace
}  // namespace corehold
