// SPDX-License-Identifier: Apache-2.0
#include "kernel/jitter.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

// Room for as many CPUs as a CpuSet has.
using KernelMask = std::array<cpu_set_t, kMaxCpus / CPU_SETSIZE>;
static_assert(kMaxCpus % CPU_SETSIZE == 0);

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

Result<CpuSet> allowed_cpus() {
  KernelMask mask{};
  if (::sched_getaffinity(0, sizeof mask, mask.data()) != 0) {
    return errno_error("sched_getaffinity", errno);
  }
  CpuSet cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.data())) {
      cpus.insert(CpuId(cpu));
    }
  }
  return cpus;
}

Result<JitterResult> measure_jitter(const JitterQuestion& question) {
  KernelMask mask{};
  CPU_SET_S(static_cast<std::size_t>(question.cpu.value), sizeof mask, mask.data());
  if (::sched_setaffinity(0, sizeof mask, mask.data()) != 0) {
    return errno_error(fmt::format("stay on CPU {}: sched_setaffinity", question.cpu.value), errno);
  }
  JitterResult result{.cpu = question.cpu,
                      .threshold = question.threshold,
                      .shortest = std::numeric_limits<std::uint64_t>::max()};
  const auto threshold = static_cast<std::uint64_t>(question.threshold.count());
  const std::uint64_t start = clock_ns();
  const std::uint64_t end = start + static_cast<std::uint64_t>(question.duration.count());
  std::uint64_t last = start;
  while (last < end) {
    const std::uint64_t now = clock_ns();
    const std::uint64_t gap = now - last;
    last = now;
    ++result.rounds;
    result.shortest = std::min(result.shortest, gap);
    if (gap >= threshold) result.pauses.add(gap);
  }
  result.watched = std::chrono::nanoseconds(last - start);
  if (result.rounds == 0) result.shortest = 0;
  return result;
}

}  // namespace corehold
