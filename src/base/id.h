// SPDX-License-Identifier: Apache-2.0
//
// Strong ids. A CPU number, a core number, a NUMA node number are all small
// integers given by the operating system; as distinct types they cannot be
// mixed up. Ids are OS numbers and may have gaps.
#pragma once

#include <compare>

namespace corehold {

template <typename Tag>
struct Id {
  int value = 0;

  constexpr Id() = default;
  constexpr explicit Id(int number) : value(number) {}
  constexpr auto operator<=>(const Id&) const = default;
};

using CpuId = Id<struct CpuTag>;        // a hardware thread
using CoreId = Id<struct CoreTag>;      // a physical core
using SocketId = Id<struct SocketTag>;  // a package
using NodeId = Id<struct NodeTag>;      // a NUMA node
using UncoreId = Id<struct UncoreTag>;  // a last-level (L3) cache

}  // namespace corehold
