// SPDX-License-Identifier: Apache-2.0
//
// A Task is one thread of the machine as the kernel's scheduler sees it: a thread of a process or
// of the kernel, where it may run, where it ran last, and for how long it has run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "cpuset/cpu_set.h"

namespace corehold {

// Flags of a task that matter here; their values are part of /proc/PID/stat.
inline constexpr std::uint32_t kTaskKernelThread = 0x00200000;  // PF_KTHREAD
inline constexpr std::uint32_t kTaskBound = 0x04000000;         // PF_NO_SETAFFINITY

struct Task {
  pid_t pid = 0;             // its process
  pid_t tid = 0;             // itself
  std::string name{};        // up to 15 bytes for a process, which has chosen them; made UTF-8
  std::uint64_t start = 0;   // in clock ticks since the machine was booted
  std::uint32_t flags = 0;   // PF_*
  int last_cpu = -1;         // where it runs or ran last
  CpuSet affinity{};         // where it may run, CPUs that are offline included
  std::uint64_t run_ns = 0;  // how long it has run since its start
  pid_t parent = 0;          // the process that started its process, or has taken it in
  std::string cgroup{};      // its path below the root of cpusets (v1), or of cgroup v2: "/a/b"

  bool operator==(const Task&) const = default;
};

inline bool is_kernel_thread(const Task& task) { return (task.flags & kTaskKernelThread) != 0; }

// Whether nobody may change its affinity: the kernel's own threads of one CPU, mostly.
inline bool is_bound(const Task& task) { return (task.flags & kTaskBound) != 0; }

}  // namespace corehold
