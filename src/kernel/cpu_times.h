// SPDX-License-Identifier: Apache-2.0
//
// Reads how each CPU has spent its time: /proc/stat, and /proc/schedstat where the kernel has it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "isolation/cpu_time.h"

namespace corehold {

// The lines cpuN of /proc/stat; lines that are not the kernel's are left out.
CpuTimes parse_cpu_stat(std::string_view text);

// Adds what the lines cpuN of /proc/schedstat say to CPUs that are in `times`.
void add_schedstat(std::string_view text, CpuTimes& times);

// Fails when /proc/stat cannot be read.
Result<CpuTimes> read_cpu_times(const std::string& proc = "/proc");

}  // namespace corehold
