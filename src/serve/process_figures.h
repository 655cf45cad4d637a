// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says about this process, for its metrics.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace corehold {

struct ProcessFigures {
  double cpu_seconds = 0;
  double start_time = 0;  // seconds since the Unix epoch
  std::int64_t resident_bytes = 0;
  std::int64_t virtual_bytes = 0;
  std::int64_t open_fds = 0;
  double max_fds = 0;  // infinite: no limit
};

// Fails when /proc cannot be read.
Result<ProcessFigures> process_figures();

// The numbers of /proc/PID/stat that count; the name in it may hold anything.
struct ProcessStat {
  std::int64_t cpu_ticks = 0;
  std::int64_t start_ticks = 0;  // since boot
  std::int64_t virtual_bytes = 0;
  std::int64_t resident_pages = 0;
};
Result<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace corehold
