// SPDX-License-Identifier: Apache-2.0
#include "agent/api/log_reader.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

constexpr std::chrono::nanoseconds kWall{1'700'000'000'123'456'789};

class LogReaderTest : public testing::Test {
 protected:
  LogReaderTest() {
    std::string pattern = testing::TempDir() + "log-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    path_ = directory_ + "/0.log";
  }
  ~LogReaderTest() override { static_cast<void>(remove_tree(directory_)); }

  // All there is for now. No piece may be much longer than a block.
  static std::string all(LogReader& reader) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) {
      const auto piece = reader.next();
      EXPECT_TRUE(piece) << piece.error().message;
      if (!piece) return text;
      EXPECT_LE(piece->text.size(), 300'000U);
      text += piece->text;
      if (!piece->more) return text;
    }
    ADD_FAILURE() << "no end";
    return text;
  }
  std::string all(const LogQuery& query = {}) const {
    LogReader reader(path_, query);
    return all(reader);
  }
  void write_lines(LogWriter& log, int from, int to) const {
    for (int i = from; i < to; ++i) log.write(LogStream::kOut, fmt::format("line {}\n", i), kWall);
  }
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += fmt::format("line {}\n", i);
    return text;
  }

  std::string directory_{};
  std::string path_{};
};

TEST_F(LogReaderTest, LeavesOutWhatIsOlder) {
  LogWriter log(path_, {.line = 12});  // what is longer is written in pieces
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto wall = std::chrono::duration_cast<milliseconds>(kWall);
  log.write(LogStream::kOut, "old begins, a", kWall - seconds{5});
  log.write(LogStream::kOut, "nd ends later\nyoung\n", kWall);
  EXPECT_EQ(all({.since = wall - seconds{1}}), "young\n");
  EXPECT_EQ(all({.since = wall - seconds{6}}), "old begins, and ends later\nyoung\n");
  EXPECT_EQ(all({.since = wall + seconds{1}}), "");
}

TEST_F(LogReaderTest, ReadsALongLogInPieces) {
  LogWriter log(path_, {.bytes = 1'000'000, .files = 9});
  write_lines(log, 0, 60'000);
  EXPECT_EQ(all(), lines(0, 60'000));
}

TEST_F(LogReaderTest, SaysTheSameAsReadingAtOnce) {
  LogWriter log(path_, {.bytes = 20'000, .files = 4, .line = 50});
  for (int i = 0; i < 3000; ++i) {
    log.write(i % 3 == 0 ? LogStream::kError : LogStream::kOut,
              std::string(static_cast<std::size_t>(i) % 120, 'a') + "\n", kWall);
  }
  log.write(LogStream::kOut, "no end", kWall);
  log.finish(kWall);
  for (const std::optional<std::size_t> tail :
       {std::optional<std::size_t>(), {0}, {1}, {2}, {17}, {400}, {100'000}}) {
    for (const bool timestamps : {false, true}) {
      const LogQuery query{.tail = tail, .timestamps = timestamps};
      EXPECT_EQ(all(query), read_log(path_, query)->text) << tail.value_or(12345);
    }
  }
}

TEST_F(LogReaderTest, FindsTheLastLinesOfALogOfSeveralBlocksAndFiles) {
  LogWriter log(path_, {.bytes = 700'000, .files = 5});
  write_lines(log, 0, 30'000);
  for (const int tail : {1, 3000, 9999, 17'000}) {
    EXPECT_EQ(all({.tail = static_cast<std::size_t>(tail)}), lines(30'000 - tail, 30'000));
  }
}

TEST_F(LogReaderTest, GoesOnWhereItWasWhileTheLogGrowsAndIsRotated) {
  LogWriter log(path_, {.bytes = 2000, .files = 4});
  LogReader reader(path_, {});
  std::string text;
  for (int i = 0; i < 1000; i += 7) {
    write_lines(log, i, i + 7);
    text += all(reader);
  }
  EXPECT_EQ(text, lines(0, 1001));
}

TEST_F(LogReaderTest, GoesOnWithTheOldestThatIsLeft) {
  LogWriter log(path_, {.bytes = 1000, .files = 3});
  write_lines(log, 0, 5);
  LogReader reader(path_, {});
  EXPECT_EQ(all(reader), lines(0, 5));
  write_lines(log, 5, 500);
  const std::string rest = all(reader);
  // The file that was being read is read to its end, though its name has gone.
  EXPECT_TRUE(rest.starts_with(lines(5, 10))) << rest;
  EXPECT_TRUE(rest.ends_with("\n" + all())) << rest;
  EXPECT_LT(rest.size(), lines(5, 500).size());
}

TEST_F(LogReaderTest, WaitsForALogThatIsNotThereYet) {
  LogReader reader(path_, {.tail = 1});
  EXPECT_EQ(all(reader), "");
  LogWriter log(path_, {});
  write_lines(log, 0, 3);
  EXPECT_EQ(all(reader), lines(0, 3));
}

TEST_F(LogReaderTest, KeepsTheTimeOfALineThatComesInPieces) {
  LogWriter log(path_, {.line = 4});
  LogReader reader(path_, {.timestamps = true});
  log.write(LogStream::kOut, "abcd", kWall);
  const std::string begin = all(reader);
  log.write(LogStream::kOut, "ef\n", kWall);
  EXPECT_EQ(begin + all(reader), "2023-11-14T22:13:20.123456789Z abcdef\n");
}

TEST_F(LogReaderTest, ShowsOneStreamOnly) {
  LogWriter log(path_, {});
  log.write(LogStream::kOut, "out 1\n", kWall);
  log.write(LogStream::kError, "error 1\nerror 2\n", kWall);
  log.write(LogStream::kOut, "out 2\n", kWall);
  log.finish(kWall);
  EXPECT_EQ(all({.stream = LogStream::kOut}), "out 1\nout 2\n");
  EXPECT_EQ(all({.stream = LogStream::kError}), "error 1\nerror 2\n");
}

TEST_F(LogReaderTest, EndsAfterSoManyBytesThoughTheLogGrows) {
  LogWriter log(path_, {});
  write_lines(log, 0, 50'000);
  EXPECT_EQ(all({.limit = 10}), "line 0\nlin");
  EXPECT_EQ(all({.limit = 200'000}), lines(0, 50'000).substr(0, 200'000));
  LogReader reader(path_, {.tail = 1, .limit = 20});
  EXPECT_EQ(all(reader), "line 49999\n");
  write_lines(log, 50'000, 50'003);
  const auto more = reader.next();
  ASSERT_TRUE(more);
  EXPECT_EQ(more->text, "line 5000");
  EXPECT_TRUE(more->is_over);
  const auto end = reader.next();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->text, "");
  EXPECT_TRUE(end->is_over);
}

}  // namespace
}  // namespace corehold
