// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/urgency.h"

#include <limits>

#include <gtest/gtest.h>

#include "pod/testing.h"

namespace corehold {
namespace {

using std::chrono::seconds;

constexpr const char* kGuaranteed = "main cpu=2 memory=1Gi";
constexpr const char* kBurstable = "main cpu=1..2 memory=1Gi";
constexpr const char* kBestEffort = "main";

// A pod that has waited since so many seconds.
PlacedPod waiting(const char* container, int priority, int since, std::uint64_t sequence) {
  PlacedPod record{.pod = pod_of("a", {container}), .sequence = sequence};
  record.pod.priority = priority;
  record.resize.wish = ResizeWish{.since = WallTime(seconds(since))};
  return record;
}

// In this order, whichever way they are asked about.
void expect_in_order(const PlacedPod& first, const PlacedPod& second) {
  EXPECT_TRUE(is_more_urgent(first, second, {}));
  EXPECT_FALSE(is_more_urgent(second, first, {}));
}

TEST(Urgency, PriorityComesFirst) {
  expect_in_order(waiting(kBestEffort, 9, 20, 2), waiting(kGuaranteed, 8, 10, 1));
  expect_in_order(waiting(kGuaranteed, 0, 20, 2), waiting(kGuaranteed, -1, 10, 1));
  expect_in_order(waiting(kGuaranteed, std::numeric_limits<int>::max(), 20, 2),
                  waiting(kGuaranteed, std::numeric_limits<int>::min(), 10, 1));
}

TEST(Urgency, NoPriorityIsPriorityZero) {
  PlacedPod without = waiting(kGuaranteed, 0, 20, 2);
  without.pod.priority.reset();
  expect_in_order(waiting(kGuaranteed, 1, 30, 3), without);
  expect_in_order(waiting(kGuaranteed, 0, 10, 3), without);
  expect_in_order(without, waiting(kGuaranteed, -1, 10, 1));
}

TEST(Urgency, AmongEqualPrioritiesTheQosClassDecides) {
  expect_in_order(waiting(kGuaranteed, 5, 30, 3), waiting(kBurstable, 5, 20, 2));
  expect_in_order(waiting(kBurstable, 5, 20, 2), waiting(kBestEffort, 5, 10, 1));
  expect_in_order(waiting(kGuaranteed, 5, 30, 3), waiting(kBestEffort, 5, 10, 1));
}

TEST(Urgency, ThenWhoHasWaitedLongerAndWhoWasThereBefore) {
  expect_in_order(waiting(kBurstable, 5, 10, 2), waiting(kBurstable, 5, 20, 1));
  expect_in_order(waiting(kBurstable, 5, 10, 1), waiting(kBurstable, 5, 10, 2));
}

TEST(Urgency, WhatWasGrantedIsFinishedBeforeAnythingIsWishedFor) {
  PlacedPod granted = waiting(kBestEffort, -9, 0, 9);
  granted.resize.wish.reset();
  expect_in_order(granted, waiting(kGuaranteed, 9, 0, 1));
}

// Every mixture of what counts, so that ties in one thing meet differences in the others.
std::vector<PlacedPod> all_kinds() {
  std::vector<PlacedPod> records;
  for (const char* container : {kGuaranteed, kBurstable, kBestEffort}) {
    for (const int priority : {-1, 0, 7}) {
      for (const int since : {0, 10, 20}) {
        for (int i = 0; i < 2; ++i) {
          // Numbered so that the order of creation goes against that of the loops.
          records.push_back(waiting(container, priority, since, 1000 - records.size()));
        }
      }
      PlacedPod granted = waiting(container, priority, 0, 1000 - records.size());
      granted.resize.wish.reset();
      records.push_back(granted);
    }
  }
  return records;
}

TEST(Urgency, IsAStrictTotalOrder) {
  const std::vector<PlacedPod> records = all_kinds();
  const std::size_t size = records.size();
  ASSERT_EQ(size, 63U);
  std::vector<std::vector<bool>> before(size, std::vector<bool>(size));
  std::vector<bool> places(size);  // taken: as many come before one as nobody else has before it
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j)
      before[i][j] = is_more_urgent(records[i], records[j], {});
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t place = 0;
    for (std::size_t j = 0; j < size; ++j) {
      EXPECT_EQ(before[i][j] + before[j][i], i == j ? 0 : 1) << i << " " << j;
      place += before[j][i] ? 1U : 0U;
      for (std::size_t k = 0; k < size; ++k) {
        if (before[i][j] && before[j][k]) {
          ASSERT_TRUE(before[i][k]) << i << " " << j << " " << k;
        }
      }
    }
    EXPECT_FALSE(places[place]) << place;
    places[place] = true;
  }
}

}  // namespace
}  // namespace corehold
