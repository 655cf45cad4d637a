// SPDX-License-Identifier: Apache-2.0
//
// The agent: one node, from its start to the signal that ends it. Containers outlive it.
#pragma once

#include <string>

#include "agent/boot/startup.h"
#include "agent/shell/shell.h"
#include "base/result.h"
#include "config/config.h"
#include "sys/log/log.h"
#include "topology/topology.h"

namespace corehold {

struct AgentSettings {
  enum class Machine { kThis, kSimulated };

  Topology topology;
  Config config{};  // fits the topology
  std::string root{};
  std::string launcher{};       // a socket of `corehold launcher`; "": this process starts monitors
  std::string cgroup{};         // the cgroup v2 that containers are kept in, below the mount point
  std::string source = "host";  // of the topology, as commands name it
  Machine machine = Machine::kThis;
  Damage damage = Damage::kRefuse;
  bool is_checked = false;  // promises are checked after every command
  OnViolation on_violation = OnViolation::kLog;
  // For tests: no scale-down delay ends while this file exists; "": none is held.
  std::string hold_delays{};
  std::string version{};
};

// Serves until SIGTERM or SIGINT. Fails when the node cannot be started; the files under the
// root are then unchanged, but for those that --recover has moved aside.
Result<void> run_agent(const AgentSettings& settings, const Log& log);

}  // namespace corehold
