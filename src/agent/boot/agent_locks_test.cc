// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/agent_locks.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace fs = std::filesystem;

class TakeLocks : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-locks-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
    fs::create_directories(root("a") + "/run");
    fs::create_directories(root("b") + "/run");
    fs::create_directory(top_ + "/public");
    fs::permissions(top_ + "/public", fs::perms(0777) | fs::perms::sticky_bit);
  }
  void TearDown() override { fs::remove_all(top_); }

  std::string root(const std::string& name) const { return top_ + "/" + name; }
  HostLocks host() const {
    return {.directory = top_ + "/host", .public_lock = top_ + "/public/corehold.lock"};
  }

  std::string top_;
};

TEST_F(TakeLocks, LetsOneAgentUseARoot) {
  const auto first = take_locks(root("a"), std::nullopt);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = take_locks(root("a"), std::nullopt);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("another agent uses {0}: {0}/run/lock is held by process {1}", root("a"),
                        ::getpid()));
  EXPECT_TRUE(take_locks(root("b"), std::nullopt));
}

TEST_F(TakeLocks, LetsOneAgentManageTheMachine) {
  const auto first = take_locks(root("a"), host());
  ASSERT_TRUE(first) << first.error().message;
  const auto second = take_locks(root("b"), host());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("another agent manages the CPUs of this machine: {}/host/agent.lock is "
                        "held by process {}",
                        top_, ::getpid()));
}

TEST_F(TakeLocks, KeepsOffAnAgentOfVersion01OfTheRootAndOfTheMachine) {
  const auto old_root = FileLock::take_public(root("a") + "/run/agent.lock");
  ASSERT_TRUE(old_root && *old_root);
  const auto same_root = take_locks(root("a"), std::nullopt);
  ASSERT_FALSE(same_root);
  EXPECT_EQ(same_root.error().code, Code::kConflict);
  const auto old_host = FileLock::take_public(host().public_lock);
  ASSERT_TRUE(old_host && *old_host);
  const auto same_host = take_locks(root("b"), host());
  ASSERT_FALSE(same_host);
  EXPECT_EQ(same_host.error().message,
            fmt::format("another agent manages the CPUs of this machine: {} is held by process {}",
                        host().public_lock, ::getpid()));
}

TEST_F(TakeLocks, IsRefusedToAnAgentOfVersion01) {
  const auto locks = take_locks(root("a"), host());
  ASSERT_TRUE(locks) << locks.error().message;
  EXPECT_FALSE(FileLock::take_public(root("a") + "/run/agent.lock"));
  EXPECT_FALSE(FileLock::take_public(host().public_lock));
}

TEST_F(TakeLocks, DoesWithoutThePublicLockWhereSomethingElseIsInItsPlace) {
  fs::create_directory(host().public_lock);
  fs::create_directory(root("a") + "/run/agent.lock");
  const auto locks = take_locks(root("a"), host());
  EXPECT_TRUE(locks) << locks.error().message;
}

}  // namespace
}  // namespace corehold
