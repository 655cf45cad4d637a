// SPDX-License-Identifier: Apache-2.0
#include "sys/file/file_lock.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

TEST_F(FileLockTest, IsOpenToItsOwnerAlone) {
  ASSERT_TRUE(FileLock::take(path()));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileLockTest, TakesWhatIsLeftWhateverItsMode) {
  ASSERT_TRUE(write_file_atomically(path(), "a leftover\n"));
  fs::permissions(path(), fs::perms(0644));
  const auto lock = FileLock::take(path());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileLockTest, RefusesADirectoryThatOthersCanWrite) {
  fs::permissions(directory_, fs::perms(0777) | fs::perms::sticky_bit);
  const auto lock = FileLock::take(path());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().message,
            fmt::format("lock {0}/lock: {0} can be written by others, who could keep this agent "
                        "from starting; chmod go-w {0}",
                        directory_));
}

TEST_F(FileLockTest, RefusesADirectoryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  ASSERT_EQ(::chown(directory_.c_str(), 12345, 12345), 0);
  const auto lock = FileLock::take(path());
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("belongs to user 12345"), std::string::npos);
}

// A process that has a lock of its own on a file, as long as it lives.
class Stranger {
 public:
  // With the rights of user 65534, unless this process has none to give up.
  Stranger(const std::string& path, int flags, short type) {
    int ready[2] = {};
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
      const int file = ::open(path.c_str(), flags, 0644);
      struct flock whole {};
      whole.l_type = type;
      whole.l_whence = SEEK_SET;
      const bool is_locked = file >= 0 && ::fcntl(file, F_OFD_SETLK, &whole) == 0;
      const char answer = is_locked ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char answer = 0;
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    has_lock_ = answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool has_lock() const { return has_lock_; }

 private:
  pid_t pid_ = 0;
  bool has_lock_ = false;
};

TEST_F(FileLockTest, CannotBeLockedByAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  fs::permissions(directory_, fs::perms(0755));
  ASSERT_TRUE(FileLock::take(path()));
  const Stranger reader(path(), O_RDONLY, F_RDLCK);
  EXPECT_FALSE(reader.has_lock());
  const auto lock = FileLock::take(path());
  EXPECT_TRUE(lock) << lock.error().message;
}

class PublicLock : public FileLockTest {
 protected:
  void SetUp() override {
    FileLockTest::SetUp();
    fs::permissions(directory_, fs::perms(0777) | fs::perms::sticky_bit);
  }
};

TEST_F(PublicLock, IsTakenAsVersion01TookIt) {
  const auto first = FileLock::take_public(path());
  ASSERT_TRUE(first && *first);
  const auto second = FileLock::take_public(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_EQ(second.error().message, fmt::format("{} is held by process {}", path(), ::getpid()));
}

TEST_F(PublicLock, IsNoObstacleWhenItIsOnlyRead) {
  ASSERT_TRUE(write_file_atomically(path(), ""));
  fs::permissions(path(), fs::perms(0644));
  const Stranger reader(path(), O_RDONLY, F_RDLCK);
  ASSERT_TRUE(reader.has_lock());
  const auto lock = FileLock::take_public(path());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_FALSE(*lock);
}

TEST_F(PublicLock, IsNoObstacleWhenAnotherUserHasMadeIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Stranger owner(path(), O_RDWR | O_CREAT, F_WRLCK);
  ASSERT_TRUE(owner.has_lock());
  const auto lock = FileLock::take_public(path());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_FALSE(*lock);
}

TEST_F(PublicLock, IsNoObstacleWhenItIsNoFile) {
  fs::create_directory(path());
  const auto directory = FileLock::take_public(path());
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_FALSE(*directory);
  fs::remove(path());
  fs::create_symlink(directory_ + "/elsewhere", path());
  const auto link = FileLock::take_public(path());
  ASSERT_TRUE(link) << link.error().message;
  EXPECT_FALSE(*link);
  EXPECT_FALSE(fs::exists(directory_ + "/elsewhere"));
}

TEST_F(PublicLock, IsNoObstacleWhenItIsTheLockOfAnotherProgramByASecondName) {
  const auto other = FileLock::take_public(directory_ + "/other");
  ASSERT_TRUE(other && *other);
  fs::create_hard_link(directory_ + "/other", path());
  const auto lock = FileLock::take_public(path());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_FALSE(*lock);
}

}  // namespace
}  // namespace corehold
