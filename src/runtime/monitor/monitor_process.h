// SPDX-License-Identifier: Apache-2.0
//
// Starting a monitor: in a session of its own, with nothing of its parent but a socket to
// the agent.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sys/descriptor.h"
#include "sys/process/process.h"

namespace corehold {

struct MonitorProcess {
  ProcessId process{};
  int channel = -1;      // for the caller to close
  bool is_child = true;  // for the caller to reap
};

// The two ends of the socket between an agent and a monitor.
struct MonitorChannel {
  Descriptor ours;
  Descriptor theirs;

  static Result<MonitorChannel> make();
};

// It waits for "go" (monitor.h) on the other end of `channel`. The caller reaps it.
Result<ProcessId> spawn_monitor_on(const std::vector<std::string>& command,
                                   const std::string& directory, int channel);

// The same with a channel of its own.
Result<MonitorProcess> spawn_monitor(const std::vector<std::string>& command,
                                     const std::string& directory);

}  // namespace corehold
