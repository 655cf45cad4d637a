// SPDX-License-Identifier: Apache-2.0
//
// A set of NUMA nodes as one word, bit i for node i, inside algorithms that try many.
#pragma once

#include <bit>
#include <cstdint>

namespace corehold {

using Mask = std::uint64_t;

constexpr Mask bit_of(int node) { return Mask{1} << node; }
constexpr int count(Mask mask) { return std::popcount(mask); }
// REQUIRES: mask != 0.
constexpr int lowest(Mask mask) { return std::countr_zero(mask); }
constexpr int highest(Mask mask) { return 63 - std::countl_zero(mask); }

// Calls visit(node) for every node, ascending.
template <typename Visit>
constexpr void for_each_node(Mask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(lowest(mask));
}

}  // namespace corehold
