// SPDX-License-Identifier: Apache-2.0
//
// A loop that stays on one CPU and does nothing but look at the clock: whatever else runs there is
// a pause between two looks.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "isolation/pause_histogram.h"

namespace corehold {

struct JitterQuestion {
  CpuId cpu{0};
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds threshold{};  // shorter times between two looks are no pause
};

struct JitterResult {
  CpuId cpu{0};
  std::chrono::nanoseconds watched{};
  std::chrono::nanoseconds threshold{};
  std::uint64_t rounds = 0;
  std::uint64_t shortest = 0;  // time between two looks, in nanoseconds: what the loop itself takes
  PauseHistogram pauses{};
};

// The CPUs that this process may run on.
Result<CpuSet> allowed_cpus();

// Stays on the CPU with the calling thread, which keeps that affinity. Fails with kIo when the
// kernel does not let it.
Result<JitterResult> measure_jitter(const JitterQuestion& question);

}  // namespace corehold
