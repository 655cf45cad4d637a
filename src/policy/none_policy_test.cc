// SPDX-License-Identifier: Apache-2.0
#include "policy/none_policy.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

TEST(NonePolicy, NeverTouchesACpuset) {
  const NonePolicy policy;
  const auto state = policy.start({});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->policy, "none");
  const auto plan = policy.allocate(*state, {.container = {"p", "c"}, .cpus = 4});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->edits.empty());
  EXPECT_TRUE(plan->granted.empty());
  EXPECT_TRUE(policy.release(*state, {"p", "c"}).edits.empty());
}

TEST(NonePolicy, RefusesToForgetWhoHoldsCpus) {
  State held;
  held.pods.set("p", "c", Holding{.assigned = cpus("2-3"), .promised = cpus("2-3")});
  const auto state = NonePolicy().start(held);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message, "policy none cannot start: container c of pod p holds CPUs 2-3");
}

}  // namespace
}  // namespace corehold
