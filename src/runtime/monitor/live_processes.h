// SPDX-License-Identifier: Apache-2.0
//
// Supervisors of containers that run, found in /proc: monitors, and clients of `corehold run`.
// Other users can give their processes any name and any environment, so only processes of this
// process's own user count, and processes in cgroups that only this user can fill.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/live_container.h"
#include "sys/process/process.h"

namespace corehold {

struct LiveMonitor {
  ProcessId process{};
  std::string directory{};  // of the container's records (container_directory.h)
};

std::vector<LiveMonitor> live_monitors();

// Containers of processes with a mark (container_mark.h): of clients of `corehold run` that live,
// and of processes in a cgroup that looks like one of a container. `known` has the marks and the
// "POD/CONTAINER" of those that are not wanted. A command of a simulated node counts for nothing,
// because it is not confined.
std::vector<LiveContainer> marked_containers(const std::set<std::string>& known);

}  // namespace corehold
