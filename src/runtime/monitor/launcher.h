// SPDX-License-Identifier: Apache-2.0
//
// What has to happen outside of the agent's sandbox: monitors are started, because what they
// start must not inherit the sandbox, and volumes in memory are mounted where containers see
// them. An agent without a sandbox does both itself. One with a sandbox (the packaged service)
// asks `corehold launcher`, a small process beside it, over a socket that only root can use:
// one packet each way, and a connection for every request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/monitor/monitor_process.h"

namespace corehold {

class Launcher {
 public:
  // This process does it.
  Launcher() = default;
  // The launcher that listens on this socket does it; "" is this process again.
  explicit Launcher(std::string socket) : socket_(std::move(socket)) {}
  // This process, and nothing is mounted: a volume in memory is a plain directory. For containers
  // that are only simulated.
  static Launcher without_mounts();

  // A monitor that waits for "go" (monitor.h). `command` runs it when this process does; the
  // launcher has its own. One that the launcher has started runs on the CPUs of this process.
  Result<MonitorProcess> start_monitor(const std::vector<std::string>& command,
                                       const std::string& directory) const;

  // Mounts a file system in memory, of at most `size` bytes, on an existing directory.
  Result<void> mount_memory(const std::string& path, std::optional<std::int64_t> size) const;

  // What others still use goes when they have gone.
  Result<void> unmount(const std::string& path) const;

 private:
  std::string socket_{};
  bool mounts_ = true;
};

struct LauncherService {
  // Only monitors of containers and volumes below this directory are taken care of.
  std::string root{};
  std::vector<std::string> monitor{"/proc/self/exe", "monitor"};
};

// Answers requests on a listening socket (SOCK_SEQPACKET) of processes of this process's
// user. Returns only when the socket accepts no more connections.
Error serve_launcher(int listener, const LauncherService& service);

}  // namespace corehold
