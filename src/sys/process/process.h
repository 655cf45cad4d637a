// SPDX-License-Identifier: Apache-2.0
//
// Other processes, as /proc shows them: identity, descendants, and a
// descriptor that tells when one has gone. A process is named by its number and the time
// it was started, because numbers are used again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace corehold {

struct ProcessId {
  pid_t pid = 0;                 // 0: none
  std::uint64_t start_time = 0;  // in clock ticks since the machine was booted

  bool operator==(const ProcessId&) const = default;
};

struct ProcessStatus {
  pid_t parent = 0;
  char state = '?';  // as ps shows it; Z: ended, and its parent has not asked how
  std::uint64_t start_time = 0;
  int threads = 0;  // of its process, one that has ended and was not reaped included
};

// Of a process, or of one thread. No value: there is no such process.
std::optional<ProcessStatus> status_of(pid_t pid);

// No value: there is no such process.
std::optional<ProcessId> identify(pid_t pid);

// Whether nothing of a process runs any more. One whose first thread has ended while others
// go on has not ended, though the kernel calls it a zombie.
bool has_ended(pid_t pid);

// The same of a single thread.
bool has_thread_ended(pid_t thread);

// Whether exactly this process is there and has not ended.
bool is_running(const ProcessId& process);

// Whether a process is of the user of this process: one that others have not started, also not by
// a program that runs with more rights than its caller.
bool is_of_own_user(pid_t pid);

// All that descend from a process, without itself and without what has ended. A process
// that forks meanwhile may be missed: ask again until nothing new turns up.
std::vector<pid_t> descendants_of(pid_t pid);

// Whether a child is one of those that are looked for.
using IsOurs = std::function<bool(pid_t parent, pid_t child)>;

// The same, but without children that are not ours and without all that descends from them.
std::vector<pid_t> descendants_of(pid_t pid, const IsOurs& is_ours);

// The threads of a process; empty when there is no such process.
std::vector<pid_t> threads_of(pid_t pid);

// The process that a thread is of. No value: there is no such thread.
std::optional<pid_t> process_of(pid_t thread);

// Every process of the machine.
std::vector<pid_t> all_processes();

// A descriptor (close-on-exec) that becomes readable when the process has ended. Fails
// with kNotFound when it has gone already, also when another has taken its number.
Result<int> open_pidfd(const ProcessId& process);

// Sends a signal to exactly this process. False: it has gone.
Result<bool> send_signal(const ProcessId& process, int number);

// Sends SIGKILL to all that `members` names, but never to this process or the machine's
// first, and says how many of them had not ended. `members` is asked more than once: a number
// that has become another's in between is left alone.
Result<std::size_t> kill_members(const std::function<Result<std::set<pid_t>>()>& members);

// Names this boot of the machine: start times of different boots say nothing. "" when
// the kernel does not tell.
const std::string& boot_id();

}  // namespace corehold
