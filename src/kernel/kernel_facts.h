// SPDX-License-Identifier: Apache-2.0
//
// Reads what the kernel is and was told at boot. `proc` and `sys` are where the file systems are
// mounted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "isolation/kernel_facts.h"

namespace corehold {

// Major and minor number of "6.1.0-37-amd64"; {0, 0} when it is no such text.
std::pair<int, int> parse_kernel_release(std::string_view release);

// The value of a boot parameter on the kernel's command line, the last where it is there more than
// once; empty for a parameter without value. No value: it is not there. What follows " -- " is for
// the first process.
std::optional<std::string> boot_parameter(std::string_view command_line, std::string_view name);

// A list of CPUs as boot parameters have them: kernel list format, and "all", "N" for the last CPU
// ("2-N") and groups ("0-15:2/4", the first 2 of every 4). Words that are not CPUs, such as the
// flags of isolcpus, are left out, and so are CPUs above `last`.
CpuSet parse_boot_cpus(std::string_view text, CpuId last);

// A CPU list of sysfs: "(null)", which nohz_full reads up to kernel 6.1, and what cannot be read
// are empty.
CpuSet parse_sys_cpus(std::string_view text);

// Fails when /proc/sys/kernel/osrelease or the CPUs that are online cannot be read; all else is
// empty where the kernel does not say.
Result<KernelFacts> read_kernel_facts(const std::string& proc = "/proc",
                                      const std::string& sys = "/sys");

}  // namespace corehold
