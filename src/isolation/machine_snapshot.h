// SPDX-License-Identifier: Apache-2.0
//
// What the kernel counts of tasks, interrupts and CPUs at one moment. Two of them tell what has
// happened in between.
#pragma once

#include <chrono>
#include <vector>

#include "isolation/cpu_time.h"
#include "isolation/interrupt.h"
#include "isolation/task.h"

namespace corehold {

struct MachineSnapshot {
  std::chrono::nanoseconds at{};  // by a clock that only goes forward
  std::vector<Task> tasks{};      // by process and thread
  InterruptTable interrupts{};
  InterruptAffinities affinities{};
  InterruptTable softirqs{};
  CpuTimes times{};
};

}  // namespace corehold
