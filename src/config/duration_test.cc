// SPDX-License-Identifier: Apache-2.0
#include "config/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

std::string error_of(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration ? "" : duration.error().message;
}

TEST(Duration, ReadsWhatGoWrites) {
  EXPECT_EQ(parse_duration("10s")->count(), 10'000);
  EXPECT_EQ(parse_duration("1m30s")->count(), 90'000);
  EXPECT_EQ(parse_duration("1h0m0.5s")->count(), 3'600'500);
  EXPECT_EQ(parse_duration("1.5h")->count(), 5'400'000);
  EXPECT_EQ(parse_duration(".25s")->count(), 250);
  EXPECT_EQ(parse_duration("1.s")->count(), 1000);
  EXPECT_EQ(parse_duration("+3ms")->count(), 3);
  EXPECT_EQ(parse_duration("2000us")->count(), 2);
  EXPECT_EQ(parse_duration("2000\u00b5s")->count(), 2);
  EXPECT_EQ(parse_duration("1000000ns")->count(), 1);
  EXPECT_EQ(parse_duration("2562047h")->count(), 9'223'369'200'000);
}

TEST(Duration, ZeroNeedsNoUnit) {
  for (const char* text : {"0", "+0", "-0", "0s", "-0s", "0h0m"}) {
    ASSERT_TRUE(parse_duration(text)) << text;
    EXPECT_EQ(parse_duration(text)->count(), 0) << text;
  }
}

TEST(Duration, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("10"), "\"10\" has no unit; write it as in \"10s\" or \"1m30s\"");
  EXPECT_EQ(error_of("5d"), "\"5d\" has an unknown unit; write it as in \"10s\" or \"1m30s\"");
  EXPECT_EQ(error_of("-1s"), "\"-1s\" is negative; write it as in \"10s\" or \"1m30s\"");
  EXPECT_EQ(error_of("1us"),
            "\"1us\" is finer than a millisecond; write it as in \"10s\" or \"1m30s\"");
  EXPECT_EQ(error_of("2562048h"), "\"2562048h\" is too long; write it as in \"10s\" or \"1m30s\"");
  for (const char* text : {"", "+", "-", "s", ".s", "1m0", "10 s", " 1s", "1s ", "0x1s", "1e3s",
                           "--1s", "1s-1s", "99999999999999999999999999999999999999999h"}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

RC_GTEST_PROP(Duration, IsShownAsWhatReadsBack, ()) {
  const std::chrono::milliseconds duration(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000));
  const auto again = parse_duration(show_duration(duration));
  RC_ASSERT(again.has_value() && *again == duration);
}

}  // namespace
}  // namespace corehold
