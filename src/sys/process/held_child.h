// SPDX-License-Identifier: Apache-2.0
//
// A command that is forked at once and started later: until it is let go the child only
// waits, so that the agent can put it in its cgroup first. Then this process stands for it:
// signals go on to it, it is stopped and continued with it, and ends with its exit code.
// The child lives no longer than this process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

// What a shell says when a command cannot be started.
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitNotExecutable = 126;

// How starting a command went wrong, and the exit code for it.
struct StartFailure {
  int exit_code = 0;
  std::string message{};  // "no-such-command: No such file or directory"
};

class HeldChild {
 public:
  // Forks. The child has the caller's everything (process group, terminal, directory,
  // environment, limits, signal mask), but may run on any CPU, does not ignore SIGPIPE, and
  // is killed if this process dies. When this returns it is ready and waits. This process
  // becomes the parent of what the child leaves behind.
  // REQUIRES: !command.empty(); one thread. Fails with kIo.
  static Result<HeldChild> fork(const std::vector<std::string>& command);

  // One that was never let go is killed.
  ~HeldChild();
  HeldChild(HeldChild&& other) noexcept;
  HeldChild& operator=(HeldChild&&) = delete;

  pid_t pid() const { return pid_; }

  // Starts the command and stands for it until it ends; returns its exit code, 128 + signal
  // when one ended it.
  //
  // Signals from the terminal reach the child by themselves, as it is in the same process
  // group; others that are sent to this process are passed on. When the child is stopped on
  // a terminal this process stops too, and continues the child when it is continued.
  // Signals stay blocked afterwards. Fails when the command cannot be started.
  Result<int> run();

  // Of a run() that failed.
  const StartFailure& failure() const { return failure_; }

 private:
  HeldChild(pid_t pid, int channel, std::string command);

  Result<void> let_go();

  pid_t pid_;
  int channel_;  // to the child: a byte lets it go, and an errno comes back if exec fails
  std::string command_;
  StartFailure failure_{};
};

// Whether the command could be started, as far as its file tells: what exec would say now.
// No value: it could.
std::optional<StartFailure> look_for(const std::string& command);

}  // namespace corehold
