// SPDX-License-Identifier: Apache-2.0
#include "sys/log/log.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(LogText, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(log_text("container started", {{"pod", "db/pg-0"}, {"cpus", "2-3,8"}, {"note", ""}}),
            "msg=\"container started\" pod=db/pg-0 cpus=2-3,8 note=\"\"");
}

TEST(LogText, KeepsEveryValueOnItsLineAndInItsQuotes) {
  EXPECT_EQ(log_text("x", {{"name", "a\nlevel=error msg=\"forged\""}}),
            "msg=x name=\"a\\nlevel=error msg=\\\"forged\\\"\"");
  EXPECT_EQ(log_text("x", {{"name", "\x1b[31m\xff"}}), "msg=x name=\"\\x1b[31m\\xff\"");
  EXPECT_EQ(log_text("x", {{"name", "a=b"}, {"other", "c\\d"}}),
            "msg=x name=\"a=b\" other=\"c\\\\d\"");
}

TEST(Log, HasTimeAndLevelInFront) {
  std::ostringstream lines;
  Log::to_stream(lines, LogLevel::kInfo).warning("careful", {{"cpus", "1"}});
  EXPECT_THAT(lines.str(),
              testing::MatchesRegex("time=[0-9-]+T[0-9:.]+Z level=warning msg=careful cpus=1\n"));
}

TEST(Log, LeavesOutWhatIsBelowItsLevel) {
  std::ostringstream lines;
  const Log log = Log::to_stream(lines, LogLevel::kWarning);
  log.debug("no");
  log.info("no");
  EXPECT_EQ(lines.str(), "");
  EXPECT_FALSE(log.is_on(LogLevel::kInfo));
  log.error("yes");
  EXPECT_NE(lines.str(), "");
}

TEST(LogLevels, HaveNames) {
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("loud").error().message,
            "\"loud\" is no log level: debug, info, warning or error");
}

}  // namespace
}  // namespace corehold
