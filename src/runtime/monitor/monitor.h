// SPDX-License-Identifier: Apache-2.0
//
// The monitor: the parent of one container, a process of its own (`corehold monitor DIR`)
// that outlives the agent. It starts the command that DIR/launch.json describes, writes its
// output to the log, kills what the command leaves behind, writes DIR/exit.json and ends.
//
// The agent and the monitor have a socket between them, the monitor's descriptor 3. The
// agent writes "go\n" once it has recorded the monitor; a monitor whose agent dies before
// ends without having started anything. The monitor answers with one line each: "running",
// or "failed TEXT", and at last "exit JSON". The agent need not listen.
#pragma once

#include <string>

namespace corehold {

inline constexpr int kMonitorChannel = 3;

// What the kernel calls a monitor, as in /proc/PID/comm.
inline constexpr const char* kMonitorName = "corehold-mon";

// Runs the container to its end. Returns the exit code of the monitor: 0 when the end of
// the container was written down.
int run_monitor(const std::string& directory);

}  // namespace corehold
