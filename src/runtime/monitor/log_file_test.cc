// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/log_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;

constexpr nanoseconds kWall{1'700'000'000'123'456'789};

class LogFile : public testing::Test {
 protected:
  LogFile() {
    std::string pattern = testing::TempDir() + "log-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    path_ = directory_ + "/0.log";
  }
  ~LogFile() override { static_cast<void>(remove_tree(directory_)); }

  std::string text(const LogQuery& query = {}) const {
    const auto read = read_log(path_, query);
    return read ? read->text : read.error().message;
  }

  std::string directory_{};
  std::string path_{};
};

TEST_F(LogFile, HasTheFormatOfTheCri) {
  LogWriter log(path_, {.line = 8});
  log.write(LogStream::kOut, "one\nmore than eight\n", kWall);
  log.write(LogStream::kError, "err", kWall);
  log.finish(kWall);
  EXPECT_EQ(*read_file(path_, 65536),
            "2023-11-14T22:13:20.123456789Z stdout F one\n"
            "2023-11-14T22:13:20.123456789Z stdout P more tha\n"
            "2023-11-14T22:13:20.123456789Z stdout F n eight\n"
            "2023-11-14T22:13:20.123456789Z stderr P err\n");
}

TEST_F(LogFile, GivesBackWhatWasWritten) {
  LogWriter log(path_, {});
  log.write(LogStream::kOut, "on", kWall);
  log.write(LogStream::kOut, "e\n\ntwo\n", kWall);
  EXPECT_EQ(text(), "one\n\ntwo\n");
  EXPECT_EQ(text({.tail = 1, .timestamps = true}), "2023-11-14T22:13:20.123456789Z two\n");
}

TEST_F(LogFile, CountsTheLastLinesWhole) {
  LogWriter log(path_, {.line = 4});
  log.write(LogStream::kOut, "a\nlong line\nb\n", kWall);
  EXPECT_EQ(text({.tail = 0}), "");
  EXPECT_EQ(text({.tail = 1}), "b\n");
  EXPECT_EQ(text({.tail = 2}), "long line\nb\n");
  EXPECT_EQ(text({.tail = 9}), "a\nlong line\nb\n");
}

TEST_F(LogFile, IsEmptyWhenItIsNotThere) {
  EXPECT_EQ(text(), "");
  EXPECT_EQ(read_log_from(path_, {}, {})->text, "");
}

TEST_F(LogFile, IsRotatedAndReadAcrossItsFiles) {
  LogWriter log(path_, {.bytes = 100, .files = 3});
  for (int line = 0; line < 7; ++line) {
    log.write(LogStream::kOut, fmt::format("line {}\n", line), kWall);
  }
  EXPECT_THAT(*entries_of(directory_), ElementsAre("0.log", "0.log.1", "0.log.2"));
  EXPECT_EQ(text(), "line 2\nline 3\nline 4\nline 5\nline 6\n");
  EXPECT_EQ(text({.tail = 4}), "line 3\nline 4\nline 5\nline 6\n");
}

TEST_F(LogFile, CanBeFollowedAcrossRotation) {
  LogWriter log(path_, {.bytes = 100, .files = 3});
  log.write(LogStream::kOut, "line 0\n", kWall);
  LogPosition position = read_log(path_, {})->end;
  std::string seen;
  for (int line = 1; line < 20; ++line) {
    log.write(LogStream::kOut, fmt::format("line {}\n", line), kWall);
    if (line % 3 != 0) continue;
    const auto next = read_log_from(path_, position, {});
    ASSERT_TRUE(next);
    seen += next->text;
    position = next->end;
  }
  std::string expected;
  for (int line = 1; line < 19; ++line) expected += fmt::format("line {}\n", line);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(read_log_from(path_, position, {})->text, "line 19\n");
}

TEST_F(LogFile, GoesOnInTheFileThatIsThere) {
  LogWriter(path_, {}).write(LogStream::kOut, "one\n", kWall);
  LogWriter(path_, {}).write(LogStream::kOut, "two\n", kWall);
  EXPECT_EQ(text(), "one\ntwo\n");
}

TEST_F(LogFile, ShowsNoHalfLinesAndNoGarbage) {
  std::ofstream(path_) << "garbage\n2023-11-14T22:13:20.1Z stdout F good\n"
                       << "2023-11-14T22:13:20.1Z stdout F hal";
  EXPECT_EQ(text(), "good\n");
}

TEST_F(LogFile, DoesNotStopAContainerWhenItCannotBeWritten) {
  LogWriter log(directory_ + "/missing/0.log", {});
  log.write(LogStream::kOut, "lost\n", kWall);
  ASSERT_TRUE(make_directories(directory_ + "/missing", 0755));
  log.write(LogStream::kOut, "kept\n", kWall);
  EXPECT_EQ(read_log(directory_ + "/missing/0.log", {})->text, "kept\n");
}

TEST_F(LogFile, OfOlderAttemptsGoes) {
  for (const char* name : {"0.log", "0.log.1", "1.log", "10.log", "other"}) {
    std::ofstream(directory_ + "/" + name) << "x";
  }
  remove_logs_before(directory_, 1);
  EXPECT_THAT(*entries_of(directory_), ElementsAre("1.log", "10.log", "other"));
}

RC_GTEST_PROP(LogFileProperty, GivesBackAnyBytesInAnyPieces, ()) {
  std::string pattern = testing::TempDir() + "log-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  const std::string path = pattern + "/0.log";
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab \n\r\0\xff", 7))));
  LogWriter log(path, {.bytes = 1 << 20, .line = 5});
  std::string all;
  for (const std::string& piece : pieces) {
    log.write(LogStream::kOut, piece, kWall);
    all += piece;
  }
  log.finish(kWall);
  const auto read = read_log(path, {});
  static_cast<void>(remove_tree(pattern));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->text == all);
}

}  // namespace
}  // namespace corehold
