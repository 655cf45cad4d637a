// SPDX-License-Identifier: Apache-2.0
//
// Starting a monitor from the agent: in a session of its own, with nothing of the agent's
// but a socket to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/process.h"

namespace corehold {

struct MonitorProcess {
  ProcessId process{};
  int channel = -1;  // for the caller to close
};

// It waits for "go" (monitor.h). The caller reaps it.
Result<MonitorProcess> spawn_monitor(const std::vector<std::string>& command,
                                     const std::string& directory);

}  // namespace corehold
