// SPDX-License-Identifier: Apache-2.0
//
// Reads the tasks of the machine from /proc. A task may end at any moment: one that is gone, or
// goes while it is being read, is not in the answer. `proc` is where the file system is mounted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isolation/task.h"

namespace corehold {

// What /proc/TID/stat says of a task: all but its process, affinity and cgroup; its name as UTF-8,
// though anybody may call a task anything; the run time in units of 10 ms, for kernels without
// /proc/TID/schedstat. No value: the text is not one of the kernel's, or the task has ended and
// waits to be reaped.
std::optional<Task> parse_task_stat(std::string_view text);

// Cpus_allowed_list of /proc/TID/status. No value: it has none.
std::optional<CpuSet> parse_task_affinity(std::string_view status);

// The cgroup of /proc/TID/cgroup that decides about CPUs: of the v1 hierarchy with cpuset, or
// where that is not mounted, of v2. "/" where there is neither.
std::string parse_task_cgroup(std::string_view text);

// Every task, sorted by process and thread. Cost follows the number of tasks. Fails when `proc`
// itself cannot be read.
Result<std::vector<Task>> read_tasks(const std::string& proc = "/proc");

// Those that run or ran last on one of these CPUs: one file is read of each of the others.
Result<std::vector<Task>> read_tasks_last_on(const CpuSet& cpus, const std::string& proc = "/proc");

// One task by its thread's number. No value: there is none, or it has ended.
std::optional<Task> read_task(pid_t tid, const std::string& proc = "/proc");

}  // namespace corehold
