// SPDX-License-Identifier: Apache-2.0
//
// A service manager gives a cgroup away (Delegate=yes) for as long as a process of the
// service is in it. `corehold hold` is that process for the cgroup in which the packaged agent
// keeps containers, so that the containers and their cgroup outlive the services of the agent.
#pragma once

#include <string>

#include "base/result.h"

namespace corehold {

// Moves this process out of the way, into a leaf of its own cgroup v2: only a cgroup without
// processes can hand controllers down. Says where it is; "" where there is no cgroup v2 with
// cpusets, which is no error. `proc` is read as in ConfinementOptions.
Result<std::string> step_into_leaf(const std::string& proc);

}  // namespace corehold
