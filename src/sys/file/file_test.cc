// SPDX-License-Identifier: Apache-2.0
#include "sys/file/file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(directory_))
      all.push_back(entry.path().filename());
    return all;
  }

  std::string directory_;
};

using ReadFile = FileTest;
using WriteFileAtomically = FileTest;

TEST(ErrnoName, IsTheSymbolOrElseTheNumber) {
  EXPECT_EQ(errno_name(EACCES), "EACCES");
  EXPECT_EQ(errno_name(99999), "errno 99999");
}

TEST(ErrnoError, CarriesTheNumberBesideItsName) {
  EXPECT_EQ(errno_error("fork", EAGAIN), (Error{Code::kIo, "fork: EAGAIN", EAGAIN}));
  EXPECT_EQ(file_error("open", "/a", ENOENT), (Error{Code::kNotFound, "open /a: ENOENT", ENOENT}));
}

TEST(KernelFile, SaysWithWhichNumberTheKernelRefused) {
  EXPECT_EQ(read_kernel_file("/proc/no-such-file").error().number, ENOENT);
  EXPECT_EQ(write_kernel_file("/proc/self/oom_score_adj", "text").error().number, EINVAL);
}

TEST_F(WriteFileAtomically, WritesWhatReadFileReads) {
  std::string content("a\0b", 3);
  content.append(200'000, 'x');
  ASSERT_TRUE(write_file_atomically(path("state"), content));
  EXPECT_EQ(*read_file(path("state"), 1 << 20), content);
  EXPECT_EQ(names(), std::vector<std::string>{"state"});
}

TEST_F(WriteFileAtomically, ReplacesTheOldContentAndIsPrivate) {
  ASSERT_TRUE(write_file_atomically(path("state"), "a long old content"));
  ASSERT_TRUE(write_file_atomically(path("state"), "new"));
  EXPECT_EQ(*read_file(path("state"), 100), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(WriteFileAtomically, NamesAMissingDirectory) {
  const auto written = write_file_atomically(path("none/state"), "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kNotFound);
  EXPECT_EQ(written.error().message, "open " + path("none") + ": ENOENT");
}

TEST_F(WriteFileAtomically, LeavesADirectoryInItsWayAlone) {
  fs::create_directory(path("state"));
  const auto written = write_file_atomically(path("state"), "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "replace " + path("state") + ": EISDIR");
  EXPECT_EQ(names(), std::vector<std::string>{"state"});
}

TEST_F(WriteFileAtomically, ReplacesNeitherLinksNorFifos) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink("elsewhere", path("link"));
  EXPECT_EQ(write_file_atomically(path("fifo"), "new").error().message,
            "replace " + path("fifo") + ": it is not a regular file");
  EXPECT_EQ(write_file_atomically(path("link"), "new").error().message,
            "replace " + path("link") + ": it is a symbolic link");
  EXPECT_EQ(names(), (std::vector<std::string>{"fifo", "link"}));
}

// A full disk, played by a limit on the size of files.
TEST_F(WriteFileAtomically, LeavesTheOldFileAndNothingElseWhenTheDiskIsFull) {
  ASSERT_TRUE(write_file_atomically(path("state"), "old"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write_file_atomically(path("state"), std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kIo);
  EXPECT_TRUE(written.error().message.ends_with(": EFBIG")) << written.error().message;
  EXPECT_EQ(*read_file(path("state"), 100), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"state"});
}

TEST_F(ReadFile, NamesAFileThatIsNotThere) {
  const auto content = read_file(path("state"), 100);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, Code::kNotFound);
  EXPECT_EQ(content.error().message, "open " + path("state") + ": ENOENT");
}

TEST_F(ReadFile, RefusesADirectory) {
  const auto content = read_file(directory_, 100);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().message, "read " + directory_ + ": EISDIR");
}

TEST_F(ReadFile, RefusesAFifoWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const auto content = read_file(path("fifo"), 100);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().message, "read " + path("fifo") + ": not a regular file");
}

TEST_F(ReadFile, RefusesMoreThanTheLimit) {
  ASSERT_TRUE(write_file_atomically(path("state"), "12345"));
  EXPECT_TRUE(read_file(path("state"), 5));
  const auto content = read_file(path("state"), 4);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, Code::kInvalid);
  EXPECT_EQ(content.error().message,
            "read " + path("state") + ": larger than 4 bytes, the most that is accepted");
}

}  // namespace
}  // namespace corehold
