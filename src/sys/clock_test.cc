// SPDX-License-Identifier: Apache-2.0
#include "sys/clock.h"

#include <limits>

#include <gtest/gtest.h>

namespace corehold {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kYear2300 = 10'413'792'000;
constexpr auto kLast = std::numeric_limits<std::time_t>::max();

TEST(WallTime, IsToldInMillisecondsPastTheYear2262) {
  EXPECT_EQ(wall_time_of({.tv_sec = 1, .tv_nsec = 999'999'999}), 1999ms);
  EXPECT_EQ(wall_time_of({.tv_sec = kYear2300, .tv_nsec = 5'000'000}), 10'413'792'000'005ms);
  EXPECT_EQ(utc_text(wall_time_of({.tv_sec = kYear2300, .tv_nsec = 0})), "2300-01-01T00:00:00Z");
}

TEST(WallTime, StaysWithinWhatIsReadAgain) {
  EXPECT_EQ(wall_time_of({.tv_sec = kLast, .tv_nsec = 0}), kLatestWallTime);
  EXPECT_EQ(utc_text(kLatestWallTime), "9999-12-31T23:59:59Z");
  EXPECT_EQ(wall_time_of({.tv_sec = -5, .tv_nsec = 0}), 0ms);
}

TEST(WallTime, InNanosecondsStopsWhereTheyEnd) {
  EXPECT_EQ(wall_nanoseconds_of({.tv_sec = 2, .tv_nsec = 3}), 2'000'000'003ns);
  EXPECT_GT(wall_nanoseconds_of({.tv_sec = kYear2300, .tv_nsec = 0}), 9'000'000'000s);
  EXPECT_GT(wall_nanoseconds_of({.tv_sec = kLast, .tv_nsec = 999'999'999}), 9'000'000'000s);
}

}  // namespace
}  // namespace corehold
