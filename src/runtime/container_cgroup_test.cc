// SPDX-License-Identifier: Apache-2.0
#include "runtime/container_cgroup.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

const ContainerRef kMain{.pod = "u", .container = "main"};

TEST(ContainerCgroup, IsBelowTheSharedParentForContainersOfThePoolOfVersion2) {
  const std::string own = cgroup_of(kMain, ConfinedBy::kCgroupV2, CpuOwner::kContainer);
  const std::string shared = cgroup_of(kMain, ConfinedBy::kCgroupV2, CpuOwner::kSharedPool);
  EXPECT_EQ(own, "pods/u/main");
  EXPECT_EQ(shared, "shared/u/main");
  EXPECT_EQ(shared_parent_of(own, ConfinedBy::kCgroupV2), "");
  EXPECT_EQ(shared_parent_of(shared, ConfinedBy::kCgroupV2), "shared");
}

TEST(ContainerCgroup, HasNoSharedParentInVersion1EvenWhenThePodIsCalledSo) {
  const ContainerRef called_so{.pod = "shared", .container = "main"};
  const std::string path = cgroup_of(called_so, ConfinedBy::kCgroupV1, CpuOwner::kSharedPool);
  EXPECT_EQ(path, "shared/main");
  EXPECT_EQ(shared_parent_of(path, ConfinedBy::kCgroupV1), "");
}

}  // namespace
}  // namespace corehold
