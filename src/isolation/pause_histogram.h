// SPDX-License-Identifier: Apache-2.0
//
// How long the pauses of a loop were, in memory that does not grow: sixteen buckets for each power
// of two, so that a percentile is at most 1/16 too large. Count, sum and maximum are exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corehold {

class PauseHistogram {
 public:
  void add(std::uint64_t nanoseconds) {
    ++buckets_[bucket_of(nanoseconds)];
    ++count_;
    sum_ += nanoseconds;
    if (nanoseconds > max_) max_ = nanoseconds;
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t max() const { return max_; }

  // The shortest time that at least `per_mille` thousandths of all pauses do not exceed, up to the
  // accuracy of a bucket; never more than max(). 0 when there were none.
  std::uint64_t percentile(int per_mille) const;

  struct Row {
    std::uint64_t from = 0;  // included
    std::uint64_t to = 0;    // not included
    std::uint64_t count = 0;

    bool operator==(const Row&) const = default;
  };
  // By powers of two, from the shortest pause to the longest, without gaps.
  std::vector<Row> rows() const;

 private:
  static constexpr int kSubBits = 4;
  static constexpr std::size_t kSubBuckets = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSubBuckets;

  static std::size_t bucket_of(std::uint64_t nanoseconds);
  // The largest value of a bucket.
  static std::uint64_t end_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace corehold
