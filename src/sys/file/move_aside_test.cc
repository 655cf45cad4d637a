// SPDX-License-Identifier: Apache-2.0
#include "sys/file/move_aside.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class MoveAside : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-aside-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(MoveAside, NamesTheTimeAndLeavesOutWhatIsNotThere) {
  ASSERT_TRUE(write_file_atomically(path("a"), "content"));
  const auto moved = move_aside({path("a"), path("b")}, 1'000'000'000'000ms);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(*moved, (std::vector<std::string>{path("a.corrupt-20010909T014640Z")}));
  EXPECT_EQ(*read_file(moved->front(), 100), "content");
  EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(MoveAside, ReplacesNothing) {
  for (const char* content : {"first", "second"}) {
    ASSERT_TRUE(write_file_atomically(path("a"), content));
    ASSERT_TRUE(move_aside({path("a")}, 0ms));
  }
  EXPECT_EQ(*read_file(path("a.corrupt-19700101T000000Z"), 100), "first");
  EXPECT_EQ(*read_file(path("a.corrupt-19700101T000000Z-1"), 100), "second");
}

}  // namespace
}  // namespace corehold
