// SPDX-License-Identifier: Apache-2.0
//
// Comparing where containers are seen with where they were put, and which CPUs are online.
#pragma once

#include <cstdint>

#include "container/seen_container.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

// Whether what was seen of the container, by a runtime that was asked in turn `since`, is not
// older than what is known of the container.
bool is_news(const PlacedContainer& state, std::uint64_t since);

// Reports a container that runs elsewhere than it was put, so that it is put back.
// REQUIRES: is_news().
void check_drift(PlacingTurn& turn, const SeenContainer& seen, std::uint64_t since);

// What is known of a container from seeing it run. REQUIRES: its pod is known.
void take_in(PlacingTurn& turn, const SeenContainer& seen);

// Takes note of the CPUs that are online now. None: not known.
void set_online(PlacingTurn& turn, const CpuSet& online);

}  // namespace corehold
