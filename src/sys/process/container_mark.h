// SPDX-License-Identifier: Apache-2.0
//
// The mark that every process of a container has in its environment, so that those whose
// supervisor has gone can be told where no cgroup holds them together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/process/process.h"

namespace corehold {

inline constexpr std::string_view kContainerVariable = "COREHOLD_CONTAINER";

// Of what a client of `corehold run` starts: the client puts it there, and the agent knows it
// because it knows the client. Containers of pods have "pod/container".
std::string run_mark(const ProcessId& client);

// The mark of a process; no value: it has none, or its environment cannot be read. Anybody can give
// a process of theirs any mark.
std::optional<std::string> mark_of(pid_t pid);

// The environment of this process with a mark in the place of one that it may have.
std::vector<std::string> marked_environment(std::string_view mark);

}  // namespace corehold
