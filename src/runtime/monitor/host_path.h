// SPDX-License-Identifier: Apache-2.0
//
// hostPath volumes, looked at by the process that becomes the container: a file system that does
// not answer holds up that process, which can be killed, and not the agent.
#pragma once

#include <vector>

#include "base/result.h"
#include "runtime/container_launch.h"

namespace corehold {

// Checks that each is what the pod says it is; makes what is missing and may be made. Nothing is
// made outside the agent's root: a path that is missing there is an error.
Result<void> check_host_paths(const std::vector<HostPath>& host_paths);

}  // namespace corehold
