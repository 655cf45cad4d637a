// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/unix_listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class UnixListener : public testing::Test {
 protected:
  UnixListener() {
    std::string pattern = (fs::temp_directory_path() / "corehold-listen-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~UnixListener() override { fs::remove_all(directory_); }

  mode_t mode_of(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777U;
  }

  std::string directory_{};
};

TEST_F(UnixListener, HasTheModeThatWasAskedForWhateverTheUmask) {
  const mode_t before = ::umask(0027);
  const auto made = listen_on_unix({.path = directory_ + "/a", .mode = 0666});
  EXPECT_EQ(::umask(before), 0027U);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(mode_of(directory_ + "/a"), 0666U);
}

TEST_F(UnixListener, TakesThePlaceOfASocketThatWasLeft) {
  const std::string path = directory_ + "/a";
  { ASSERT_TRUE(listen_on_unix({.path = path})); }
  const auto again = listen_on_unix({.path = path});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(UnixListener, LeavesAloneWhatIsNoSocket) {
  const std::string path = directory_ + "/a";
  std::ofstream(path) << "precious";
  const auto made = listen_on_unix({.path = path});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "listen on " + path + ": something else is there");
  EXPECT_TRUE(fs::is_regular_file(path));
}

TEST_F(UnixListener, SaysThatAPathIsTooLong) {
  const auto made = listen_on_unix({.path = directory_ + "/" + std::string(100, 'x')});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalid);
  EXPECT_THAT(made.error().message, HasSubstr("a socket's at most 107"));
}

TEST_F(UnixListener, LeavesNothingBehindWhenItFails) {
  const std::string path = directory_ + "/none/a";
  const auto made = listen_on_unix({.path = path});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "bind " + path + ": ENOENT");
}

}  // namespace
}  // namespace corehold
