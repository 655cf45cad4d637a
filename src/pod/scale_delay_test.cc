// SPDX-License-Identifier: Apache-2.0
#include "pod/scale_delay.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

using std::chrono::milliseconds;

// Neither the option nor the annotation takes these.
constexpr std::array kBad{"",        "s",       "ms",
                          "5",       "0",       "-1s",
                          "-0.5s",   "-1ms",    "11s",
                          "1m",      "1h",      "5us",
                          "1e2ms",   "0x5s",    "nans",
                          "infs",    " 5s",     "5s ",
                          "5 s",     "1,5s",    "+5s",
                          "5S",      "10.001s", "10001ms",
                          "1s5s",    "5ss",     "5sms",
                          "five",    "true",    "OFF",
                          "0.0001s", "0.5ms",   "99999999999999999999s"};

TEST(ScaleDelay, IsWrittenInSecondsAndMilliseconds) {
  EXPECT_EQ(parse_scale_delay("0s")->count(), 0);
  EXPECT_EQ(parse_scale_delay("0ms")->count(), 0);
  EXPECT_EQ(parse_scale_delay("1ms")->count(), 1);
  EXPECT_EQ(parse_scale_delay("500ms")->count(), 500);
  EXPECT_EQ(parse_scale_delay("1.5s")->count(), 1500);
  EXPECT_EQ(parse_scale_delay("10s")->count(), 10'000);
  EXPECT_EQ(parse_scale_delay("10000ms")->count(), 10'000);
}

TEST(ScaleDelay, IsNothingElse) {
  for (const char* text : kBad) EXPECT_FALSE(parse_scale_delay(text)) << text;
  EXPECT_FALSE(parse_scale_delay("off"));
}

TEST(ScaleDelay, SaysWhatIsWrongAndWhatToWrite) {
  const auto error_of = [](const char* text) { return parse_scale_delay(text).error().message; };
  const std::string advice = R"(; write 0s to 10s, as in "5s", "500ms" or "1.5s")";
  EXPECT_EQ(error_of("11s"), R"("11s" is longer than 10s)" + advice);
  EXPECT_EQ(error_of("-1s"), R"("-1s" is negative)" + advice);
  EXPECT_EQ(error_of("5"), R"("5" has no unit of seconds or milliseconds)" + advice);
  EXPECT_EQ(error_of("abcs"), R"("abcs" is not a duration)" + advice);
  EXPECT_EQ(error_of("0.5ms"), R"("0.5ms" is finer than a millisecond)" + advice);
}

TEST(OwnScaleDelay, IsOffOrWhatTheOptionTakes) {
  EXPECT_EQ(parse_own_scale_delay("off")->count(), 0);
  EXPECT_EQ(parse_own_scale_delay("0s")->count(), 0);
  EXPECT_EQ(parse_own_scale_delay("1.5s")->count(), 1500);
  for (const char* text : kBad) EXPECT_FALSE(parse_own_scale_delay(text)) << text;
  EXPECT_EQ(parse_own_scale_delay("20s").error().message,
            R"("20s" is longer than 10s; write "off" or 0s to 10s, as in "5s", "500ms" or "1.5s")");
}

TEST(OwnScaleDelay, OfAPodWithoutTheAnnotationIsTheNodes) {
  EXPECT_FALSE(own_scale_delay({})->has_value());
  EXPECT_FALSE(own_scale_delay({{"corehold.dev/other", "5s"}})->has_value());
  EXPECT_EQ(*own_scale_delay({{kScaleDelayAnnotation, "250ms"}}), milliseconds(250));
  EXPECT_FALSE(own_scale_delay({{kScaleDelayAnnotation, "soon"}}));
}

}  // namespace
}  // namespace corehold
