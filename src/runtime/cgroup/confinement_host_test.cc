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

}  // namespace
}  // namespace corehold
