// SPDX-License-Identifier: Apache-2.0
//
// The processes of a container among those that descend from its supervisor. Some descendants are
// not of the container: a client of `corehold run` may have had children before, and a command may
// itself be such a client, whose children are then of another container.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "runtime/cgroup/confinement.h"

namespace corehold {

// The processes in a neighbour's cgroup.
using MembersOf = std::function<Result<std::set<pid_t>>(const Neighbour&)>;

// Empty when the supervisor is gone. `members_of` is asked about neighbours without a supervisor:
// their processes are adopted by the supervisors around them while they are being killed.
std::vector<pid_t> process_tree_of(const ContainerProcesses& container,
                                   const MembersOf& members_of);

// The descendants of a client before its child `attached` becomes a container: its other children
// and what descends from those.
std::vector<ProcessId> unrelated_processes_of(pid_t client, pid_t attached);

}  // namespace corehold
