// SPDX-License-Identifier: Apache-2.0
#include "cpuset/processor_group.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

constexpr std::uint64_t kThirtyFive = (std::uint64_t{1} << 35) - 1;

TEST(ProcessorGroups, ThreeLowBitsAreThreeCpusOfTheirGroup) {
  EXPECT_EQ(cpus_of_groups({{.mask = 0b111, .group = 0}})->str(), "0-2");
  EXPECT_EQ(cpus_of_groups({{.mask = 0b111, .group = 1}})->str(), "64-66");
}

TEST(ProcessorGroups, TwoGroupsOf35LeaveAGap) {
  const auto cpus =
      cpus_of_groups({{.mask = kThirtyFive, .group = 0}, {.mask = kThirtyFive, .group = 1}});
  ASSERT_TRUE(cpus);
  EXPECT_EQ(cpus->str(), "0-34,64-98");
}

TEST(ProcessorGroups, AndBack) {
  const std::vector<GroupAffinity> groups{{.mask = kThirtyFive, .group = 0},
                                          {.mask = ~std::uint64_t{0}, .group = 3}};
  EXPECT_EQ(groups_of_cpus(*cpus_of_groups(groups)), groups);
  EXPECT_TRUE(groups_of_cpus({}).empty());
}

TEST(ProcessorGroups, RefuseAGroupBeyondTheSet) {
  const auto cpus = cpus_of_groups({{.mask = 1, .group = 64}});
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().message, "processor group 64 is outside 0 to 63");
}

}  // namespace
}  // namespace corehold
