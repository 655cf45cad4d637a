// SPDX-License-Identifier: Apache-2.0
#include "isolation/pause_histogram.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;
using Row = PauseHistogram::Row;

TEST(PauseHistogram, OfNothingIsEmpty) {
  const PauseHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile(999), 0U);
  EXPECT_TRUE(histogram.rows().empty());
}

TEST(PauseHistogram, CountsByPowersOfTwoWithoutGaps) {
  PauseHistogram histogram;
  for (const std::uint64_t pause : {1000U, 1024U, 1500U, 9000U}) histogram.add(pause);
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_EQ(histogram.sum(), 12524U);
  EXPECT_EQ(histogram.max(), 9000U);
  EXPECT_THAT(histogram.rows(),
              ElementsAre(Row{512, 1024, 1}, Row{1024, 2048, 2}, Row{2048, 4096, 0},
                          Row{4096, 8192, 0}, Row{8192, 16384, 1}));
}

TEST(PauseHistogram, PercentilesAreAtMostASixteenthTooLarge) {
  for (const std::uint64_t pause : {1ULL, 15ULL, 16ULL, 17ULL, 1000ULL, 123456789ULL, 1ULL << 40}) {
    PauseHistogram histogram;
    histogram.add(pause);
    histogram.add(std::numeric_limits<std::uint64_t>::max() / 4);
    const std::uint64_t median = histogram.percentile(500);
    EXPECT_GE(median, pause);
    EXPECT_LE(median, pause + pause / 16);
  }
}

TEST(PauseHistogram, PercentilesOfManyAreTheRightOnes) {
  PauseHistogram histogram;
  for (int pause = 1; pause <= 10'000; ++pause) histogram.add(static_cast<std::uint64_t>(pause));
  EXPECT_NEAR(static_cast<double>(histogram.percentile(500)), 5000, 5000 / 16.0);
  EXPECT_GE(histogram.percentile(990), 9900U);
  EXPECT_GE(histogram.percentile(999), 9990U);
  EXPECT_EQ(histogram.percentile(1000), 10'000U);
  EXPECT_EQ(histogram.percentile(0), 1U);
}

TEST(PauseHistogram, TakesTheLargestNumber) {
  PauseHistogram histogram;
  histogram.add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.percentile(500), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.rows().size(), 1U);
}

}  // namespace
}  // namespace corehold
