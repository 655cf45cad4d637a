// SPDX-License-Identifier: Apache-2.0
//
// Reads interrupts and soft interrupts: /proc/interrupts, /proc/softirqs, /proc/irq. `proc` is
// where the file system is mounted, `sys` that of sysfs (its debug directory says which interrupts
// are managed, where the kernel has that and this process may read it).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "isolation/interrupt.h"

namespace corehold {

// Of /proc/interrupts, or of /proc/softirqs, whose rows all have names. Fails with kInvalid when
// the first line does not name CPUs; other lines that are not the kernel's are left out.
Result<InterruptTable> parse_interrupts(std::string_view text);

// Whether /sys/kernel/debug/irq/irqs/N says that the kernel manages the interrupt.
bool parse_debug_managed(std::string_view text);

Result<InterruptTable> read_interrupts(const std::string& proc = "/proc");
Result<InterruptTable> read_softirqs(const std::string& proc = "/proc");

// Of every interrupt in /proc/irq that has an affinity; empty where the kernel has no such
// directory. `table` gives the devices, by whose names managed interrupts are known where the
// kernel does not say.
InterruptAffinities read_interrupt_affinities(const InterruptTable& table,
                                              const std::string& proc = "/proc",
                                              const std::string& sys = "/sys");

// Where interrupts of devices that appear later may come to; no value where the kernel does not
// say.
std::optional<CpuSet> read_default_affinity(const std::string& proc = "/proc");

}  // namespace corehold
