// SPDX-License-Identifier: Apache-2.0
//
// Times as the Kubernetes API writes them (RFC 3339, UTC), and ages as its tables show
// them. Times are milliseconds since the Unix epoch.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// "2026-11-16T04:57:42Z"; what is finer than a second is cut.
std::string time_text(std::chrono::milliseconds since_epoch);

// The same with six digits after the point, for log lines and eventTime.
std::string micro_time_text(std::chrono::milliseconds since_epoch);

// Fractions and other zones than UTC are understood. Fails with kInvalid for anything else
// and for years before 1970.
Result<std::chrono::milliseconds> parse_time(std::string_view text);

// How long something has lasted, in one or two units: "42s", "3m5s", "12m", "3h", "5d",
// "2y40d". Below zero (clocks differ): "0s".
std::string age_text(std::chrono::milliseconds age);

}  // namespace corehold
