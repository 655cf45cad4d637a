// SPDX-License-Identifier: Apache-2.0
#include "isolation/pause_histogram.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace corehold {

// Values below 16 have a bucket each; above, the four bits behind the highest one choose among the
// sixteen of that power.
std::size_t PauseHistogram::bucket_of(std::uint64_t nanoseconds) {
  if (nanoseconds < kSubBuckets) return static_cast<std::size_t>(nanoseconds);
  const int shift = static_cast<int>(std::bit_width(nanoseconds)) - 1 - kSubBits;
  const auto sub = static_cast<std::size_t>(nanoseconds >> shift) - kSubBuckets;
  return (static_cast<std::size_t>(shift) + 1) * kSubBuckets + sub;
}

std::uint64_t PauseHistogram::end_of(std::size_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  const std::size_t shift = bucket / kSubBuckets - 1;
  const std::uint64_t first = (bucket % kSubBuckets + kSubBuckets) << shift;
  return first + ((std::uint64_t{1} << shift) - 1);
}

std::uint64_t PauseHistogram::percentile(int per_mille) const {
  CHECK(per_mille >= 0 && per_mille <= 1000);
  if (count_ == 0) return 0;
  // Rounded up, without going beyond 64 bits.
  const auto part = static_cast<std::uint64_t>(per_mille);
  const std::uint64_t wanted =
      std::max<std::uint64_t>(1, count_ / 1000 * part + (count_ % 1000 * part + 999) / 1000);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted) return std::min(end_of(bucket), max_);
  }
  return max_;
}

std::vector<PauseHistogram::Row> PauseHistogram::rows() const {
  std::vector<Row> rows;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (buckets_[bucket] == 0) continue;
    const std::uint64_t power = std::bit_floor(std::max<std::uint64_t>(1, end_of(bucket)));
    while (!rows.empty() && rows.back().from < power) {
      const std::uint64_t from = rows.back().to;
      rows.push_back({.from = from, .to = from * 2});
    }
    if (rows.empty()) rows.push_back({.from = power, .to = power * 2});
    rows.back().count += buckets_[bucket];
  }
  return rows;
}

}  // namespace corehold
