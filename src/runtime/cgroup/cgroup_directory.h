// SPDX-License-Identifier: Apache-2.0
//
// What cgroup v1 and v2 have in common: directories with control files, nested ones made
// by the container itself included.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/container_ref.h"

namespace corehold {

// Process (or, from "tasks" and "cgroup.threads", thread) numbers in a control file of this
// cgroup and of all below it. A cgroup that does not exist has no members.
Result<std::set<pid_t>> members_of(const std::string& cgroup, std::string_view file);

// The cgroups directly below; empty when there is no such cgroup.
std::vector<std::string> children_of(const std::string& cgroup);

bool is_cgroup(const std::string& path);

// One level; one that is there is no error.
Result<void> make_cgroup(const std::string& path);

// Removes the cgroup and all below. False: the kernel still counts processes in it.
Result<bool> remove_cgroup(const std::string& path);

// The same for one cgroup that others may still use: it stays unless it is empty.
void remove_if_empty(const std::string& path);

// The processes of this cgroup and of all below it. `threads` is the control file that names
// threads: of a process whose first thread has ended, or was elsewhere when it ended, only
// the others are there.
Result<std::set<pid_t>> processes_in(const std::string& cgroup, std::string_view threads);

// The same by the list of processes alone, where there are so many that to look who descends from
// whom costs everybody: it takes the kernel the square of their number while they die, on a CPU
// that nobody else gets meanwhile. Empty: there are few, or none.
Result<std::set<pid_t>> many_processes_in(const std::string& cgroup);

// The threads of these processes that are not in `members` and were not just about to end.
std::vector<pid_t> outside(const std::vector<pid_t>& processes, const std::set<pid_t>& members);

// A control file that holds a list of CPUs or NUMA nodes.
Result<CpuSet> read_cpus(const std::string& path);
Result<NodeSet> read_nodes(const std::string& path);

// The number behind a key, in a control file with one of both on each line; 0 when it is not
// there.
std::int64_t number_in(const std::string& path, std::string_view key);

// The cgroups on the way to this one, outermost first: "a" and "a/b" for "a/b/c".
std::vector<std::string> levels_above(const std::string& cgroup);

// What the kernel makes of a number of bytes.
std::int64_t whole_pages(std::int64_t bytes);

// Lets the threads of a process run wherever their cgroup lets them, whatever affinity they have
// chosen or inherited.
void forget_affinity(pid_t pid);

// Whose cgroup it is, for messages: "set CPUs of container main (pod UID) to 2-5".
// Without a container: of those that share.
std::string setting_cpus(const ContainerRef& container, const CpuSet& cpus);
std::string setting_memory(const ContainerRef& container, std::int64_t limit);

struct MemoryUse {
  std::int64_t limit = 0;
  std::int64_t used = 0;
};

// kConflict, in the kubelet's words: a limit that cannot be set as long as so much is used.
Error below_use(const ContainerRef& container, const MemoryUse& memory);

}  // namespace corehold
