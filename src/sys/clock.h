// SPDX-License-Identifier: Apache-2.0
//
// The two clocks, and chance: what deciding code must be handed.
#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace corehold {

// A clock that only goes forward, from any beginning.
std::chrono::milliseconds steady_now();

// Since the Unix epoch; within what kLatestWallTime allows, whatever the clock says.
std::chrono::milliseconds wall_now();

// The last time that has four digits for its year, as all times that are written and read again.
inline constexpr std::chrono::milliseconds kLatestWallTime{253'402'300'799'999};

// A reading of the clock in milliseconds, and in nanoseconds as far as those go (the year 2262):
// earlier and later readings are moved to the nearest time that can be told.
std::chrono::milliseconds wall_time_of(const timespec& reading);
std::chrono::nanoseconds wall_nanoseconds_of(const timespec& reading);
std::chrono::nanoseconds wall_now_in_nanoseconds();

// "2026-11-16T05:00:00Z", for names of files and for people.
std::string utc_text(std::chrono::milliseconds since_epoch);

// A random UUID (version 4) in lower case.
std::string random_uuid();

// So many random lower-case letters and digits without those that look alike or form words.
std::string random_suffix(int length);

}  // namespace corehold
