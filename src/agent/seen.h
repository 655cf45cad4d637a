// SPDX-License-Identifier: Apache-2.0
//
// From the runtime's words to the manager's.
#pragma once

#include <vector>

#include "agent/log.h"
#include "manager/command.h"
#include "runtime/runtime.h"

namespace corehold {

Exit exit_of(const RuntimeExit& exit, WallTime started_at);

// A manifest that cannot be read is left out with a warning.
SeenContainer seen_of(const RuntimeContainer& container, const Log& log);
std::vector<SeenContainer> seen_of(const std::vector<RuntimeContainer>& containers, const Log& log);

}  // namespace corehold
