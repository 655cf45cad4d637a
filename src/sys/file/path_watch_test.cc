// SPDX-License-Identifier: Apache-2.0
#include "sys/file/path_watch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class PathWatchTest : public testing::Test {
 protected:
  PathWatchTest() {
    std::string pattern = (fs::temp_directory_path() / "corehold-watch-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
  }
  ~PathWatchTest() override {
    watch_.reset();
    fs::remove_all(top_);
  }

  void watch(const std::string& below) {
    auto begun = PathWatch::begin(loop_, (top_ / below).string(),
                                  [this](const PathChange& change) { note(change); });
    ASSERT_TRUE(begun) << begun.error().message;
    watch_ = *std::move(begun);
  }
  void note(const PathChange& change) {
    notes_.push_back(change.everything ? "everything"
                                       : fmt::format("{}", fmt::join(change.names, " ")));
  }
  // What was told since the last call. The kernel has it ready before a writer's call returns.
  std::vector<std::string> told() {
    loop_.restart();
    loop_.poll();
    return std::exchange(notes_, {});
  }
  void write(const std::string& below, const std::string& text = "x") {
    std::ofstream(top_ / below) << text;
  }

  boost::asio::io_context loop_;
  fs::path top_;
  std::unique_ptr<PathWatch> watch_;
  std::vector<std::string> notes_;
};

TEST_F(PathWatchTest, NamesWhatComesChangesAndGoes) {
  fs::create_directory(top_ / "d");
  watch("d");
  EXPECT_THAT(told(), IsEmpty());
  write("d/a");
  write("d/b");
  EXPECT_THAT(told(), ElementsAre("a b"));
  write("d/a", "more");
  EXPECT_THAT(told(), ElementsAre("a"));
  fs::remove(top_ / "d/b");
  EXPECT_THAT(told(), ElementsAre("b"));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(PathWatchTest, WaitsForTheWriterToClose) {
  fs::create_directory(top_ / "d");
  watch("d");
  std::ofstream file(top_ / "d/a");
  file << "half" << std::flush;
  EXPECT_THAT(told(), IsEmpty());
  file.close();
  EXPECT_THAT(told(), ElementsAre("a"));
}

TEST_F(PathWatchTest, TellsBothNamesOfARename) {
  fs::create_directory(top_ / "d");
  write("d/a");
  watch("d");
  fs::rename(top_ / "d/a", top_ / "d/b");
  EXPECT_THAT(told(), ElementsAre("a b"));
  write("new");
  fs::rename(top_ / "new", top_ / "d/b");
  EXPECT_THAT(told(), ElementsAre("b"));
  fs::rename(top_ / "d/b", top_ / "out");
  EXPECT_THAT(told(), ElementsAre("everything"));
}

TEST_F(PathWatchTest, SeesLinks) {
  fs::create_directory(top_ / "d");
  write("one");
  watch("d");
  fs::create_symlink("../one", top_ / "d/soft");
  EXPECT_THAT(told(), ElementsAre("soft"));
  fs::create_hard_link(top_ / "one", top_ / "d/hard");
  EXPECT_THAT(told(), ElementsAre("hard"));
}

TEST_F(PathWatchTest, TheDirectoryMayComeAndGo) {
  watch("a/b/c");
  EXPECT_THAT(told(), IsEmpty());
  fs::create_directory(top_ / "a");
  EXPECT_THAT(told(), ElementsAre("everything"));
  fs::create_directories(top_ / "a/b/c");
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("a/b/c/f");
  EXPECT_THAT(told(), ElementsAre("f"));
  fs::remove_all(top_ / "a/b/c");
  EXPECT_THAT(told(), ElementsAre("everything"));
  fs::create_directory(top_ / "a/b/c");
  EXPECT_THAT(told(), ElementsAre("everything"));
  fs::rename(top_ / "a", top_ / "away");
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("away/b/c/f");
  EXPECT_THAT(told(), IsEmpty());
  fs::rename(top_ / "away", top_ / "a");
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("a/b/c/g");
  EXPECT_THAT(told(), ElementsAre("g"));
}

TEST_F(PathWatchTest, TheDirectoryMayBeALinkThatIsSwapped) {
  fs::create_directory(top_ / "v1");
  fs::create_directory(top_ / "v2");
  fs::create_symlink("v1", top_ / "d");
  watch("d");
  write("v1/f");
  EXPECT_THAT(told(), ElementsAre("f"));
  fs::create_symlink("v2", top_ / "next");
  fs::rename(top_ / "next", top_ / "d");
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("v1/f");
  EXPECT_THAT(told(), IsEmpty());
  write("v2/f");
  EXPECT_THAT(told(), ElementsAre("f"));
}

TEST_F(PathWatchTest, AFileIsWatchedByItsName) {
  watch("file");
  write("other");
  EXPECT_THAT(told(), IsEmpty());
  write("file");
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("file", "again");
  EXPECT_THAT(told(), ElementsAre("everything"));
  fs::rename(top_ / "other", top_ / "file");
  EXPECT_THAT(told(), ElementsAre("everything"));
  fs::remove(top_ / "file");
  EXPECT_THAT(told(), ElementsAre("everything"));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(PathWatchTest, StartsOverWhenTheKernelHasHadTooMuchToTell) {
  fs::create_directory(top_ / "d");
  watch("d");
  // The kernel keeps fs.inotify.max_queued_events, usually 16,384, and of equal ones in a row one.
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int most = 0;
  limit >> most;
  if (most == 0 || most > 50'000) GTEST_SKIP() << "the kernel keeps " << most << " events";
  for (int i = 0; i < most / 2 + 2; ++i) {
    write("d/a");
    write("d/b");
  }
  EXPECT_THAT(told(), ElementsAre("everything"));
  write("d/c");
  EXPECT_THAT(told(), ElementsAre("c"));
}

TEST_F(PathWatchTest, SaysNothingOnceItIsGone) {
  fs::create_directory(top_ / "d");
  watch("d");
  write("d/a");
  watch_.reset();
  EXPECT_THAT(told(), IsEmpty());
}

}  // namespace
}  // namespace corehold
