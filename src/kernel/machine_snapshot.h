// SPDX-License-Identifier: Apache-2.0
//
// Reads a snapshot of tasks, interrupts and CPU times of the machine. `proc` and `sys` are where
// the file systems are mounted.
#pragma once

#include <string>

#include "base/result.h"
#include "isolation/machine_snapshot.h"

namespace corehold {

// Fails when tasks, /proc/interrupts or /proc/stat cannot be read; what else the kernel does not
// have is empty. The time is a clock's between the first and the last file.
Result<MachineSnapshot> read_machine(const std::string& proc = "/proc",
                                     const std::string& sys = "/sys");

// The same with those tasks alone that run or ran last on one of these CPUs.
Result<MachineSnapshot> read_machine_on(const CpuSet& cpus, const std::string& proc = "/proc",
                                        const std::string& sys = "/sys");

}  // namespace corehold
