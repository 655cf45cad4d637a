// SPDX-License-Identifier: Apache-2.0
//
// LiveContainer: a container as the kernel shows it, whatever anybody has written down. A node
// compares those with its records: a container that runs and is not on record has CPUs that would
// be given twice, so the node refuses it by name. Nothing here looks at the machine.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold {

struct LiveContainer {
  std::string cgroup{};       // as the operator finds it; "": known by its processes alone
  std::vector<pid_t> pids{};  // empty: they are of another PID namespace
  CpuSet cpus{};              // where they may run
  pid_t supervisor = 0;       // its monitor, or its client of `corehold run`; 0: not found
  std::string root{};         // of the agent that has started it; "": not known
  std::string directory{};    // of its records, whether they are there or not; "": not known
  std::string damage{};  // what is wrong with a record there, with the file's name; "": nothing

  bool operator==(const LiveContainer&) const = default;
};

// The root of the agent that keeps the records of a container in `directory`
// (container_directory.h); "": such records are not kept there.
std::string root_of(std::string_view directory);

// "UID/main" of ROOT/containers/UID/main, of a cgroup and of a mark: their last two names.
std::string_view last_two_names(std::string_view path);

// One sentence about each, and what to do, for the agent of `root`: kConflict.
// REQUIRES: unknown is not empty.
// `recovery` says whether the agent was started with --recover, which had no success.
enum class Recovery { kNotAsked, kFailed };
Error unknown_containers(const std::vector<LiveContainer>& unknown, const std::string& root,
                         Recovery recovery = Recovery::kNotAsked);

// "cgroup PATH (processes 12, 13; CPUs 2-3; of the agent with --root /var/lib/other)".
std::string describe(const LiveContainer& container, const std::string& root);

}  // namespace corehold
