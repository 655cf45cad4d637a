// SPDX-License-Identifier: Apache-2.0
//
// PodRecord as the text that the store keeps. Fields that are not known are ignored, fields that
// are missing have their defaults, and a record of a later version is refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "manager/record.h"

namespace corehold {

// The most that a record holds: longer than any process lives, far from the end of 64 bits.
inline constexpr std::chrono::seconds kMostGrace{std::int64_t{1} << 32};

std::string write_record(const PodRecord& record);

// Fails with kCorrupt, naming the field, on anything that write_record could not have
// written or that is not of its shape; with kUnsupported on a record of a later version.
Result<PodRecord> read_record(std::string_view text);

// "api", "static", "run", "run-waiting".
std::string_view name_of(Source source);

}  // namespace corehold
