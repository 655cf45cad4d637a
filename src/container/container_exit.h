// SPDX-License-Identifier: Apache-2.0
//
// ContainerExit: how one run of a container ended.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace corehold {

enum class ExitCause {
  kEnded,        // by itself or by a signal: `code` and `signal` say how
  kOutOfMemory,  // the kernel killed a process of the container for using too much memory
  kUnknown,      // nothing saw the container end
  kNotStarted,   // the runtime could not start it
  kRestartAll,   // killed so that all containers of its pod start over
};

// Times are milliseconds since the Unix epoch; zero: not known.
struct ContainerExit {
  int code = 0;    // as a shell says it: 128 + signal when a signal ended the container
  int signal = 0;  // 0: no signal
  ExitCause cause = ExitCause::kEnded;
  std::string message{};  // for people, such as why the command could not be run; may be empty
  std::chrono::milliseconds started_at{};
  std::chrono::milliseconds finished_at{};

  bool operator==(const ContainerExit&) const = default;
};

// The exit as Kubernetes names it: "Completed", "Error", "OOMKilled", "ContainerStatusUnknown",
// "StartError" or "RestartingAllContainers".
std::string_view reason_of(const ContainerExit& exit);

// The cause that reason_of() names so. "Completed", "Error" and every text that is not a reason
// are kEnded.
ExitCause cause_of(std::string_view reason);

}  // namespace corehold
