// SPDX-License-Identifier: Apache-2.0
#include "sys/file/directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

class Directories : public testing::Test {
 protected:
  Directories() {
    std::string pattern = testing::TempDir() + "directory-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    top_ = pattern;
  }
  ~Directories() override { static_cast<void>(remove_tree(top_)); }

  std::string top_{};
};

TEST_F(Directories, AreMadeWithTheirParents) {
  ASSERT_TRUE(make_directories(top_ + "/a/b/c", 0700));
  struct stat status {};
  ASSERT_EQ(::stat((top_ + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_TRUE(make_directories(top_ + "/a/b/c", 0755));
  std::ofstream(top_ + "/file") << "x";
  const auto made = make_directories(top_ + "/file/x", 0755);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("ENOTDIR"));
}

TEST_F(Directories, AreListedInOrder) {
  ASSERT_TRUE(make_directories(top_ + "/b", 0755));
  std::ofstream(top_ + "/a") << "x";
  EXPECT_THAT(*entries_of(top_), testing::ElementsAre("a", "b"));
  EXPECT_EQ(entries_of(top_ + "/none").error().code, Code::kNotFound);
}

TEST_F(Directories, AreRemovedWithAllTheyHoldButNotWhatLinksLeadTo) {
  ASSERT_TRUE(make_directories(top_ + "/gone/deep", 0755));
  ASSERT_TRUE(make_directories(top_ + "/kept", 0755));
  std::ofstream(top_ + "/kept/file") << "x";
  std::ofstream(top_ + "/gone/deep/file") << "x";
  ASSERT_EQ(::symlink((top_ + "/kept").c_str(), (top_ + "/gone/link").c_str()), 0);
  ASSERT_TRUE(remove_tree(top_ + "/gone"));
  EXPECT_THAT(*entries_of(top_), testing::ElementsAre("kept"));
  EXPECT_THAT(*entries_of(top_ + "/kept"), testing::ElementsAre("file"));
  EXPECT_TRUE(remove_tree(top_ + "/gone"));
}

TEST_F(Directories, AreRemovedHoweverDeepTheyAre) {
  // Deeper than descriptors would last, or a path could name.
  constexpr int kDepth = 3000;
  ASSERT_TRUE(make_directories(top_ + "/deep", 0755));
  int here = ::open((top_ + "/deep").c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < kDepth; ++depth) {
    ASSERT_EQ(::mkdirat(here, "level", 0755), 0);
    const int file = ::openat(here, "a-file", O_WRONLY | O_CREAT, 0644);
    const int next = ::openat(here, "level", O_RDONLY | O_DIRECTORY);
    ASSERT_GE(next, 0);
    ::close(file);
    ::close(here);
    here = next;
  }
  ::close(here);
  const auto removed = remove_tree(top_ + "/deep");
  EXPECT_TRUE(removed) << removed.error().message.substr(0, 200);
  EXPECT_THAT(*entries_of(top_), testing::IsEmpty());
}

TEST_F(Directories, NameWhatCannotBeRemoved) {
  ASSERT_TRUE(make_directories(top_ + "/a/b/mounted", 0755));
  if (::mount("test", (top_ + "/a/b/mounted").c_str(), "tmpfs", 0, "") != 0) {
    GTEST_SKIP() << "nothing can be mounted";
  }
  const auto removed = remove_tree(top_ + "/a");
  EXPECT_EQ(::umount((top_ + "/a/b/mounted").c_str()), 0);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().message, "remove " + top_ + "/a/b/mounted: EBUSY");
}

TEST_F(Directories, AreMadeForTheirOwnerAlone) {
  struct stat status {};
  ASSERT_TRUE(make_private_directory(top_ + "/a/private"));
  ASSERT_EQ(::stat((top_ + "/a/private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((top_ + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
  ASSERT_EQ(::chmod((top_ + "/a/private").c_str(), 0755), 0);
  ASSERT_TRUE(make_private_directory(top_ + "/a/private"));
  ASSERT_EQ(::stat((top_ + "/a/private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::symlink("a", (top_ + "/link").c_str()), 0);
  EXPECT_FALSE(make_private_directory(top_ + "/link"));
}

TEST_F(Directories, AreMadeInsideAnotherButNotThroughLinks) {
  ASSERT_TRUE(make_inside(top_, "a/b//c", Leaf::kDirectory));
  ASSERT_TRUE(make_inside(top_, "a/b/c", Leaf::kDirectory));
  ASSERT_TRUE(make_inside(top_, "a/x/file", Leaf::kFile));
  std::ofstream(top_ + "/a/x/file") << "kept";
  ASSERT_TRUE(make_inside(top_, "a/x/file", Leaf::kFile));
  EXPECT_EQ(*read_file(top_ + "/a/x/file", 100), "kept");
  ASSERT_TRUE(make_directories(top_ + "/elsewhere", 0755));
  ASSERT_EQ(::symlink("../elsewhere", (top_ + "/a/link").c_str()), 0);
  ASSERT_EQ(::symlink("../elsewhere/file", (top_ + "/a/dangling").c_str()), 0);
  EXPECT_FALSE(make_inside(top_, "a/link/deep", Leaf::kDirectory));
  EXPECT_FALSE(make_inside(top_, "a/link", Leaf::kDirectory));
  EXPECT_FALSE(make_inside(top_, "a/link/file", Leaf::kFile));
  EXPECT_FALSE(make_inside(top_, "a/dangling", Leaf::kFile));
  EXPECT_FALSE(make_inside(top_ + "/a", "../other", Leaf::kDirectory));
  EXPECT_THAT(*entries_of(top_ + "/elsewhere"), testing::IsEmpty());
  EXPECT_THAT(*entries_of(top_), testing::ElementsAre("a", "elsewhere"));
}

TEST_F(Directories, FilesAreReplacedWhole) {
  ASSERT_TRUE(replace_file(top_ + "/f", "one"));
  ASSERT_TRUE(replace_file(top_ + "/f", "two"));
  EXPECT_EQ(*read_file(top_ + "/f", 100), "two");
  EXPECT_THAT(*entries_of(top_), testing::ElementsAre("f"));
}

TEST_F(Directories, KernelFilesAreReadWithoutTheirLastNewline) {
  std::ofstream(top_ + "/f") << "0-3\n";
  EXPECT_EQ(*read_kernel_file(top_ + "/f"), "0-3");
  ASSERT_TRUE(write_kernel_file(top_ + "/f", "1"));
  EXPECT_EQ(*read_kernel_file(top_ + "/f"), "1");
  EXPECT_EQ(read_kernel_file(top_ + "/none").error().message, "open " + top_ + "/none: ENOENT");
  EXPECT_EQ(write_kernel_file(top_ + "/none", "x").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace corehold
