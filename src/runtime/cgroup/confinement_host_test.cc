// SPDX-License-Identifier: Apache-2.0
//
// Single calls of a confinement on the real kernel. cgroup v2 is tested wherever it is
// mounted, with or without its cpuset controller: ending a container needs none.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "runtime/cgroup/cgroup_v1.h"
#include "runtime/cgroup/cgroup_v2.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

// Where cgroup v2 is mounted; "": nowhere.
std::string v2_mount() {
  const auto mounts = read_kernel_file("/proc/mounts");
  const std::size_t type = mounts ? mounts->find(" cgroup2 ") : std::string::npos;
  if (type == std::string::npos) return "";
  const std::size_t begin = mounts->rfind(' ', type - 1) + 1;
  return mounts->substr(begin, type - begin);
}

class CgroupV2OnTheKernel : public testing::Test {
 protected:
  void SetUp() override {
    const std::string mount = v2_mount();
    if (mount.empty()) GTEST_SKIP() << "there is no cgroup v2";
    base_ = fmt::format("{}/corehold-test-{}", mount, ::getpid());
    for (const std::string& path : {base_, base_ + "/pods", base_ + "/pods/pod", own()}) {
      if (::mkdir(path.c_str(), 0755) != 0) GTEST_SKIP() << path << " cannot be made";
    }
  }
  void TearDown() override {
    if (!base_.empty()) static_cast<void>(remove_cgroup(base_));
  }

  std::string own() const { return base_ + "/pods/pod/main"; }
  CgroupV2 confinement() const {
    return CgroupV2({.mount = v2_mount(), .base = base_, .delegated = true});
  }
  static ContainerProcesses container() { return {.cgroup = "pods/pod/main"}; }

  std::string base_{};
};

TEST_F(CgroupV2OnTheKernel, KillsWhoHasLostItsFirstThread) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  ASSERT_TRUE(write_kernel_file(own() + "/cgroup.procs", std::to_string(child)));
  while (status_of(child)->state != 'Z') ::usleep(1000);
  const auto killed = confinement().kill(container());
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(*killed, 1U);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const auto left = confinement().kill(container());
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(*left, 0U);
}

TEST_F(CgroupV2OnTheKernel, HasNobodyToKillWhereThereIsNoCgroup) {
  const ContainerProcesses other{.cgroup = "pods/pod/other"};
  EXPECT_EQ(*confinement().kill(other), 0U);
}

class RealtimeOnCgroupV1 : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_cgroup("/sys/fs/cgroup/cpuset") ||
        !read_kernel_file("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")) {
      GTEST_SKIP() << "there is no cgroup v1 with real-time time";
    }
  }
  void TearDown() override {
    // In order: a cgroup that is removed with time counts for the kernel a little longer.
    for (int number = 0; number < kContainers; ++number) {
      static_cast<void>(CgroupV1(places_).remove(container(number)));
    }
  }

  static constexpr int kContainers = 150;

  static ContainerProcesses container(int number) {
    return {.cgroup = fmt::format("pod{}/main", number)};
  }
  std::string time_of(int number) const {
    const auto text = read_kernel_file(
        fmt::format("{}/{}/pod{}/main/cpu.rt_runtime_us", places_.cpu, places_.name, number));
    return text ? *text : text.error().message;
  }

  CgroupV1::Places places_{.cpuset = "/sys/fs/cgroup/cpuset",
                           .cpu = "/sys/fs/cgroup/cpu",
                           .name = fmt::format("corehold-test-{}", ::getpid())};
  Placement own_{.cpus = *CpuSet::parse("0")};
  Placement shared_{.cpus = *CpuSet::parse("0"), .owner = CpuOwner::kSharedPool};
};

TEST_F(RealtimeOnCgroupV1, IsGivenToEveryContainerHoweverManyThereAre) {
  const CgroupV1 confinement(places_);
  ASSERT_TRUE(confinement.confine(container(0), own_));
  EXPECT_EQ(time_of(0), "850000");
  for (int number = 1; number < kContainers; ++number) {
    ASSERT_TRUE(confinement.confine(container(number), number % 10 == 0 ? own_ : shared_));
  }
  for (int number = 0; number < kContainers; ++number) {
    EXPECT_EQ(time_of(number), number % 10 == 0 ? "53120" : "19") << number;
  }
  // Another process knows from the kernel what each has.
  const CgroupV1 next(places_);
  for (int number = 2; number < kContainers; ++number) {
    ASSERT_TRUE(next.confine(container(number), number % 10 == 0 ? own_ : shared_));
    const auto removed = next.remove(container(number));
    ASSERT_TRUE(removed && *removed);
  }
  EXPECT_EQ(time_of(0), "850000");
  ASSERT_TRUE(next.confine(container(2), own_));
  EXPECT_EQ(time_of(0), "425000");
  EXPECT_EQ(time_of(2), "425000");
}

TEST_F(RealtimeOnCgroupV1, FollowsCgroupsThatSomebodyElseHasRemoved) {
  const CgroupV1 confinement(places_);
  ASSERT_TRUE(confinement.confine(container(0), own_));
  ASSERT_TRUE(confinement.confine(container(1), own_));
  EXPECT_EQ(time_of(1), "425000");
  ASSERT_TRUE(CgroupV1(places_).remove(container(0)));
  ASSERT_TRUE(confinement.confine(container(2), own_));
  EXPECT_EQ(time_of(1), "425000");
  EXPECT_EQ(time_of(2), "425000");
  ASSERT_TRUE(CgroupV1(places_).remove(container(1)));
  ASSERT_TRUE(CgroupV1(places_).remove(container(2)));
  ASSERT_TRUE(confinement.confine(container(3), own_));
  EXPECT_EQ(time_of(3), "850000");
}

}  // namespace
}  // namespace corehold
