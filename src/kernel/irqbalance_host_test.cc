// SPDX-License-Identifier: Apache-2.0
//
// The real irqbalance, where it is installed (or where $IRQBALANCE is), in a mount namespace where
// it has a directory for its socket and can move no interrupt.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/irqbalance.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr std::chrono::seconds kPatience{300};

class RealIrqBalance : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("IRQBALANCE");
    program_ = given != nullptr ? given : "/usr/sbin/irqbalance";
    if (::access(program_.c_str(), X_OK) != 0) GTEST_SKIP() << "there is no " << program_;
    const auto online = read_kernel_file("/sys/devices/system/cpu/online");
    if (!online || *online == "0") GTEST_SKIP() << "irqbalance does nothing with one CPU";
    ::mkdir("/run/irqbalance", 0755);
    const bool is_apart =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("none", "/run/irqbalance", "tmpfs", 0, nullptr) == 0 &&
        ::mount("/proc/irq", "/proc/irq", "", MS_BIND, nullptr) == 0 &&
        ::mount("", "/proc/irq", "", MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    if (!is_apart) GTEST_SKIP() << "no mount namespace of its own";
    start();
  }
  void TearDown() override {
    stop();
    // Ours is on top of it in this namespace; that of the machine is removed if it was empty.
    ::umount2("/run/irqbalance", MNT_DETACH);
    ::rmdir("/run/irqbalance");
  }

  void start() {
    child_ = ::fork();
    if (child_ == 0) {
      ::execl(program_.c_str(), "irqbalance", "--foreground", "--interval", "1", nullptr);
      ::_exit(127);
    }
  }
  void stop() {
    if (child_ <= 0) return;
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  bool is_running() { return child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == 0; }

  std::string socket() const { return fmt::format("/run/irqbalance/irqbalance{}.sock", child_); }

  // Turns until it says so; false when it has ended, or hangs.
  bool says(const CpuSet& banned) {
    for (int tries = 0; tries < 30'000 && is_running(); ++tries) {
      // One without a memory of what it has told: what irqbalance itself says.
      IrqBalance other({.patience = kPatience});
      const auto seen = other.look();
      if (seen.running.size() == 1 && seen.running[0].socket == socket() &&
          seen.running[0].banned == banned) {
        return true;
      }
      ::usleep(10'000);
    }
    return false;
  }

  std::string program_{};
  pid_t child_ = 0;
};

TEST_F(RealIrqBalance, KeepsOffTheCpusItIsTold) {
  ASSERT_TRUE(says({}));
  IrqBalance client({.patience = kPatience});
  ASSERT_TRUE(client.ban(socket(), *CpuSet::parse("1")));
  EXPECT_TRUE(says(*CpuSet::parse("1")));
  ASSERT_TRUE(client.ban(socket(), {}));
  EXPECT_TRUE(says({}));
  stop();
  EXPECT_TRUE(client.look().running.empty());
  start();
  ASSERT_TRUE(says({}));
  EXPECT_TRUE(client.ban(socket(), *CpuSet::parse("0")));
  EXPECT_TRUE(says(*CpuSet::parse("0")));
}

}  // namespace
}  // namespace corehold
