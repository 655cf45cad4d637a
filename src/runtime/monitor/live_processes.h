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

struct MarkedSearch {
  std::set<std::string> known{};  // marks and "POD/CONTAINER" of those that are not wanted
  std::set<std::string> noted{};  // marks of commands that this agent has taken in
  std::string root{};             // of this agent, which does not simulate
};

// Containers of processes with a mark (container_mark.h).
//
// Anybody can give a process any mark, also that of a client of another user, and a command may
// have changed its user. So a mark of `corehold run` counts only where something stands behind it
// that other users cannot make: a client of this user that lives; a process of this user, when it
// is kept from CPUs; or a note of this agent (command_notes.h), which is there for as long as the
// command runs, whatever user it has and whether its client lives or not. Commands of other
// users without a note are passed over: if they counted, every user could keep the agent from
// starting, or its CPUs from others. A mark of any process counts in a cgroup that looks like one
// of a container, because only this user can fill those.
//
// A command of a simulated node with another root counts for nothing, because it is not confined.
std::vector<LiveContainer> marked_containers(const MarkedSearch& search);

}  // namespace corehold
