// SPDX-License-Identifier: Apache-2.0
//
// The report of who may run on CPUs and who did, and the result of a jitter loop, for people (80
// columns) and for programs.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "isolation/quiet_report.h"
#include "kernel/jitter.h"

namespace corehold {

// "850 ns", "12.3 us", "4.56 ms", "1.23 s": three digits.
std::string duration_text(std::uint64_t nanoseconds);

// `holders_from` says how it is known who holds which CPUs: "the agent", or why it is not.
std::string render_quiet_table(const QuietReport& report, const std::string& holders_from);
boost::json::object quiet_json(const QuietReport& report);

std::string render_jitter_table(const JitterResult& result);
boost::json::object jitter_json(const JitterResult& result);

}  // namespace corehold
