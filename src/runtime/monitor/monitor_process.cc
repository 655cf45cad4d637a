// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/monitor_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/monitor/monitor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  // REQUIRES: channel > kMonitorChannel.
  int set(int channel) {
    int error = 0;
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      const int flags = fd == STDIN_FILENO ? O_RDONLY : O_WRONLY;
      if (error == 0) {
        error = ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", flags, 0);
      }
    }
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions_, channel, kMonitorChannel);
    if (error == 0) {
      error = ::posix_spawn_file_actions_addclosefrom_np(&actions_, kMonitorChannel + 1);
    }
    return error;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals{};
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    constexpr int kFlags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags));
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<MonitorChannel> MonitorChannel::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_error("socketpair", errno);
  }
  return MonitorChannel{.ours = Descriptor(ends[0]), .theirs = Descriptor(ends[1])};
}

Result<ProcessId> spawn_monitor_on(const std::vector<std::string>& command,
                                   const std::string& directory, int channel) {
  // Above the number it gets in the monitor, so that copying it there is never a no-op.
  const Descriptor high(::fcntl(channel, F_DUPFD_CLOEXEC, kMonitorChannel + 1));
  if (!high.is_open()) return errno_error("dup", errno);

  CHECK(!command.empty());
  std::vector<std::string> words = command;
  words.push_back(directory);
  // For people who look at a list of processes.
  if (words[0] == "/proc/self/exe") words[0] = "corehold";
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  SpawnActions actions;
  const SpawnAttributes attributes;
  pid_t pid = 0;
  int error = actions.set(high.get());
  if (error == 0) {
    error = ::posix_spawn(&pid, command[0].c_str(), actions.get(), attributes.get(),
                          arguments.data(), ::environ);
  }
  if (error != 0) {
    return errno_error(fmt::format("start the monitor {}", command[0]), error);
  }
  const auto process = identify(pid);
  if (!process) {
    static_cast<void>(::waitpid(pid, nullptr, 0));
    return Error{Code::kIo, fmt::format("the monitor (process {}) has gone at once", pid)};
  }
  return *process;
}

Result<MonitorProcess> spawn_monitor(const std::vector<std::string>& command,
                                     const std::string& directory) {
  MonitorChannel channel = TRY(MonitorChannel::make());
  const ProcessId process = TRY(spawn_monitor_on(command, directory, channel.theirs.get()));
  return MonitorProcess{.process = process, .channel = channel.ours.release()};
}

}  // namespace corehold
