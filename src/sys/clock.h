// SPDX-License-Identifier: Apache-2.0
//
// The two clocks, and chance: what deciding code must be handed.
#pragma once

#include <chrono>
#include <string>

namespace corehold {

// A clock that only goes forward, from any beginning.
std::chrono::milliseconds steady_now();

// Since the Unix epoch.
std::chrono::milliseconds wall_now();

// "2026-11-16T05:00:00Z", for names of files and for people.
std::string utc_text(std::chrono::milliseconds since_epoch);

// A random UUID (version 4) in lower case.
std::string random_uuid();

// So many random lower-case letters and digits without those that look alike or form words.
std::string random_suffix(int length);

}  // namespace corehold
