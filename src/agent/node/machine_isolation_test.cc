// SPDX-License-Identifier: Apache-2.0
#include "agent/node/machine_isolation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

Config static_config() {
  Config config;
  config.cpu_manager_policy = CpuManagerPolicy::kStatic;
  return config;
}

TEST(ChooseIsolation, IsTheLevelAskedForAsRootWithACgroup) {
  Config config = static_config();
  for (const IsolationLevel level : kIsolationLevels) {
    config.isolation.level = level;
    EXPECT_EQ(choose_isolation(config, Privilege::kRoot, FencePlaces{}).level, level);
  }
}

TEST(ChooseIsolation, IsAFenceWhereNobodyAsksAndItIsPossible) {
  const Config config = static_config();
  EXPECT_EQ(choose_isolation(config, Privilege::kRoot, FencePlaces{}).level,
            IsolationLevel::kFence);
  EXPECT_EQ(choose_isolation(config, Privilege::kNone, FencePlaces{}).level,
            IsolationLevel::kContainers);
  EXPECT_EQ(choose_isolation(config, Privilege::kRoot, std::nullopt).level,
            IsolationLevel::kContainers);
}

TEST(ChooseIsolation, SaysWhyThereIsNoFence) {
  Config config = static_config();
  config.isolation.level = IsolationLevel::kFence;
  const auto plain = choose_isolation(config, Privilege::kNone, FencePlaces{});
  EXPECT_EQ(plain.level, IsolationLevel::kContainers);
  EXPECT_EQ(plain.why_not, "the agent is not root, so that other tasks of the machine stay");
  EXPECT_THAT(choose_isolation(config, Privilege::kRootOfContainer, FencePlaces{}).why_not,
              testing::HasSubstr("PID namespace of its own"));
  EXPECT_EQ(choose_isolation(config, Privilege::kRoot, std::nullopt).why_not,
            "there is no cgroup to write, so that other tasks of the machine stay");
  config.isolation.level = IsolationLevel::kContainers;
  EXPECT_EQ(choose_isolation(config, Privilege::kRoot, FencePlaces{}).why_not, "");
  EXPECT_EQ(choose_isolation(Config{}, Privilege::kRoot, FencePlaces{}).why_not,
            "policy none gives no exclusive CPUs");
}

TEST(ExclusiveCondition, NamesIntruders) {
  FenceState fence;
  const IsolationChoice choice{.level = IsolationLevel::kFence};
  EXPECT_EQ(exclusive_condition(choice, fence).reason, "Starting");
  fence.confirmed = cpus("2-3");
  EXPECT_TRUE(exclusive_condition(choice, fence).is_so);
  fence.by_nature = {{.what = "interrupt 24 (nvme0q1, managed)"}};
  EXPECT_EQ(exclusive_condition(choice, fence).message,
            "held CPUs are kept free of the rest of the machine (level fence); the kernel lets "
            "nobody move: interrupt 24 (nvme0q1, managed)");
  EXPECT_TRUE(exclusive_condition(choice, fence).is_so);
  fence.leftovers = {{.what = "/system.slice", .reason = "no answer within 3000 ms"}};
  const auto condition = exclusive_condition(choice, fence);
  EXPECT_FALSE(condition.is_so);
  EXPECT_EQ(condition.reason, "Intruders");
  EXPECT_EQ(condition.message, "not kept off CPUs 2-3: /system.slice (no answer within 3000 ms)");
  EXPECT_EQ(exclusive_condition({.why_not = "the agent is not root"}, fence).message,
            "only other containers are kept off held CPUs: the agent is not root");
}

}  // namespace
}  // namespace corehold
