// SPDX-License-Identifier: Apache-2.0
//
// Other processes, as /proc shows them: who they are, who descends from whom, and a
// descriptor that tells when one has gone. A process is named by its number and the time
// it was started, because numbers are used again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
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
};

// No value: there is no such process.
std::optional<ProcessStatus> status_of(pid_t pid);

// No value: there is no such process.
std::optional<ProcessId> identify(pid_t pid);

// Whether exactly this process is there and has not ended.
bool is_running(const ProcessId& process);

// All that descend from a process, without itself and without what has ended. A process
// that forks meanwhile may be missed: ask again until nothing new turns up.
std::vector<pid_t> descendants_of(pid_t pid);

// The threads of a process; empty when there is no such process.
std::vector<pid_t> threads_of(pid_t pid);

// Every process of the machine.
std::vector<pid_t> all_processes();

// A descriptor (close-on-exec) that becomes readable when the process has ended. Fails
// with kNotFound when it has gone already, also when another has taken its number.
Result<int> open_pidfd(const ProcessId& process);

// Sends a signal to exactly this process. False: it has gone.
Result<bool> send_signal(const ProcessId& process, int number);

// Names this boot of the machine: start times of different boots say nothing. "" when
// the kernel does not tell.
std::string boot_id();

}  // namespace corehold
