// SPDX-License-Identifier: Apache-2.0
#include "sys/file/file_lock.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-lock-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path() const { return directory_ + "/lock"; }

  std::string directory_;
};

TEST_F(FileLockTest, HoldsTheCallersPid) {
  const auto lock = FileLock::take(path());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(*read_file(path(), 100), fmt::format("{}\n", ::getpid()));
}

TEST_F(FileLockTest, RefusesTheSecondNamingTheFirst) {
  const auto first = FileLock::take(path());
  ASSERT_TRUE(first);
  const auto second = FileLock::take(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_EQ(second.error().message, fmt::format("{} is held by process {}", path(), ::getpid()));
}

TEST_F(FileLockTest, IsFreeOnceItsHolderHasGone) {
  std::optional<FileLock> first(*FileLock::take(path()));
  first.reset();
  EXPECT_TRUE(FileLock::take(path()));
}

TEST_F(FileLockTest, DoesNotFollowLinks) {
  fs::create_symlink(directory_ + "/elsewhere", path());
  const auto lock = FileLock::take(path());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().message, fmt::format("open {}: ELOOP", path()));
}

TEST_F(FileLockTest, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  ASSERT_TRUE(write_file_atomically(path(), ""));
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  const auto lock = FileLock::take(path());
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("belongs to user 12345"), std::string::npos);
}

}  // namespace
}  // namespace corehold
