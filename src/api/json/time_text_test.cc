// SPDX-License-Identifier: Apache-2.0
#include "api/json/time_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TimeText, IsUtcInSeconds) {
  EXPECT_EQ(time_text(milliseconds{0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(milliseconds{1'709'164'799'999}), "2024-02-28T23:59:59Z");
  EXPECT_EQ(time_text(seconds{1'709'164'800}), "2024-02-29T00:00:00Z");
  EXPECT_EQ(micro_time_text(milliseconds{1'709'164'800'042}), "2024-02-29T00:00:00.042000Z");
}

RC_GTEST_PROP(TimeText, ComesBackAsItWent, ()) {
  const milliseconds time(*rc::gen::inRange<std::int64_t>(0, 250'000'000'000'000));
  const auto back = parse_time(micro_time_text(time));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == time);
  RC_ASSERT(*parse_time(time_text(time)) == std::chrono::floor<seconds>(time));
}

RC_GTEST_PROP(TimeText, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto time = parse_time(text);
  RC_ASSERT(time.has_value() || time.error().code == Code::kInvalid);
}

TEST(TimeText, UnderstandsZonesAndFractions) {
  EXPECT_EQ(*parse_time("2024-02-29T02:30:00+02:30"), seconds{1'709'164'800});
  EXPECT_EQ(*parse_time("2024-02-28T23:00:00.5-01:00"), milliseconds{1'709'164'800'500});
  EXPECT_EQ(*parse_time("2024-02-29T00:00:00.123456789Z"), milliseconds{1'709'164'800'123});
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2024", "2024-02-30T00:00:00Z", "2024-02-29T24:00:00Z",
                           "2024-02-29T00:00:00", "2024-02-29T00:00:00Zx", "1969-12-31T23:59:59Z",
                           "2024-02-29T00:00:00.Z", "2024-02-29T00:00:00+99:00"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(AgeText, HasOneOrTwoUnits) {
  EXPECT_EQ(age_text(seconds{-5}), "0s");
  EXPECT_EQ(age_text(milliseconds{1999}), "1s");
  EXPECT_EQ(age_text(seconds{119}), "119s");
  EXPECT_EQ(age_text(seconds{120}), "2m");
  EXPECT_EQ(age_text(seconds{185}), "3m5s");
  EXPECT_EQ(age_text(std::chrono::minutes{12}), "12m");
  EXPECT_EQ(age_text(std::chrono::minutes{185}), "3h5m");
  EXPECT_EQ(age_text(std::chrono::hours{20}), "20h");
  EXPECT_EQ(age_text(std::chrono::hours{49}), "2d1h");
  EXPECT_EQ(age_text(std::chrono::hours{24 * 40}), "40d");
  EXPECT_EQ(age_text(std::chrono::hours{24 * 770}), "2y40d");
}

}  // namespace
}  // namespace corehold
