// SPDX-License-Identifier: Apache-2.0
//
// Reads settings of the machine that are advised about. Any text of the kernel may be missing or
// strange: what cannot be read is not known. `proc` and `sys` are where the file systems are
// mounted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isolation/kernel_settings.h"

namespace corehold {

// The word in brackets of "always [madvise] never", which is how sysfs shows what is chosen. No
// value: there is none.
std::optional<std::string> chosen_word(std::string_view text);

// Whether a line of /proc/mounts is of the file system resctrl.
bool mounts_resctrl(std::string_view mounts);

// Whether the first CPU of /proc/cpuinfo has this flag (x86).
bool has_cpu_flag(std::string_view cpuinfo, std::string_view flag);

// Governors are of `cpus` alone. Reads /proc/cpuinfo only where resctrl is not mounted: up to
// kernel 5.17 it interrupts every CPU.
KernelSettings read_kernel_settings(const CpuSet& cpus, const std::string& proc = "/proc",
                                    const std::string& sys = "/sys");

}  // namespace corehold
