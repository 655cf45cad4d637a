// SPDX-License-Identifier: Apache-2.0
#include "features/node_mask.h"

#include <array>
#include <span>

namespace corehold {
namespace {

std::size_t ones_in(std::uint64_t word) { return static_cast<std::size_t>(std::popcount(word)); }

// Adds three words bit by bit: what stays, and what is carried.
std::uint64_t add(std::uint64_t& sum, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t half = sum ^ a;
  const std::uint64_t carry = (sum & a) | (half & b);
  sum = half ^ b;
  return carry;
}

}  // namespace

// Eight words are added up bit by bit before anything is counted: a machine without an
// instruction for counting is asked once instead of eight times.
std::size_t NodeMask::count() const {
  std::uint64_t ones = 0;
  std::uint64_t twos = 0;
  std::uint64_t fours = 0;
  std::size_t eights = 0;
  std::span<const std::uint64_t> rest = words_;
  for (; rest.size() >= 8; rest = rest.subspan(8)) {
    std::array<std::uint64_t, 2> carried{};
    for (std::size_t half = 0; half < 2; ++half) {
      const auto four = rest.subspan(half * 4, 4);
      const std::uint64_t first = add(ones, four[0], four[1]);
      const std::uint64_t second = add(ones, four[2], four[3]);
      carried[half] = add(twos, first, second);
    }
    eights += ones_in(add(fours, carried[0], carried[1]));
  }
  std::size_t count = 8 * eights + 4 * ones_in(fours) + 2 * ones_in(twos) + ones_in(ones);
  for (const std::uint64_t word : rest) count += ones_in(word);
  return count;
}

}  // namespace corehold
