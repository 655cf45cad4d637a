// SPDX-License-Identifier: Apache-2.0
//
// Time as the manager is told it. It never asks for it.
#pragma once

#include <chrono>

namespace corehold {

// Milliseconds since the Unix epoch, for people; zero: never.
using WallTime = std::chrono::milliseconds;

// On a monotonic clock, from any beginning.
using SteadyTime = std::chrono::nanoseconds;

struct Now {
  SteadyTime steady{};
  WallTime wall{};
};

}  // namespace corehold
