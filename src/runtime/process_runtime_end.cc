// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime ends a container: nobody hears of the end, or of a start that has
// failed, before nothing of it runs any more, because its CPUs are given away then.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "runtime/process_runtime_entry.h"

namespace corehold {
// Reaps a child of ours.
bool ProcessRuntime::has_keeper_gone(const Entry& entry) {
  if (entry.keeper.pid <= 0) return true;
  if (!entry.is_child) return !is_running(entry.keeper);
  siginfo_t information{};
  const int waited =
      ::waitid(P_PID, static_cast<id_t>(entry.keeper.pid), &information, WEXITED | WNOHANG);
  return waited != 0 || information.si_pid == entry.keeper.pid;
}

// A start that has failed: told when nothing of it is left.
void ProcessRuntime::fail(Entry& entry, const Error& error) {
  entry.failed = wrap(fmt::format("start {}", name_of(entry.container)), error);
  if (entry.phase == Entry::Phase::kEnding || entry.phase == Entry::Phase::kEnded) return;
  entry.phase = Entry::Phase::kEnding;
  entry.timer.cancel();
  // A client is told that it failed; what it has is its own again.
  if (entry.is_attached) entry.keeper = {};
  static_cast<void>(send_signal(entry.keeper, SIGKILL));
  wait_for_end(entry);
}

// Called when the keeper has gone or is to go, until nothing of the container is left.
void ProcessRuntime::wait_for_end(Entry& entry) {
  const bool gone = has_keeper_gone(entry);
  if (gone) entry.keeper = {};
  const auto left = entry.confinement->kill(body_of(entry));
  // A client waits until its CPUs are free, and keeps what its command has left behind.
  if (left && *left == 0 && (gone || entry.is_attached)) return finish(entry);
  entry.pause = std::min(entry.pause * 2, kLongestPause);
  if (entry.pause == kLongestPause) {
    tell_once(entry, fmt::format("{}; its CPUs stay its own until nothing of it is left",
                                 left ? fmt::format("{} processes cannot be killed", *left)
                                      : left.error().message));
  }
  later(entry, entry.pause, [this](Entry& current) { wait_for_end(current); });
}

void ProcessRuntime::finish(Entry& entry) {
  // What the monitor said last may still be on its way.
  if (entry.channel.is_open()) {
    static_cast<void>(hear_all(entry));
    boost::system::error_code error;
    entry.channel.close(error);
  }
  if (const auto kept = entry.directory.read_exit()) entry.exit = kept;
  if (entry.started && !entry.ran && !entry.failed) {
    std::string reason = entry.failure;
    if (reason.empty() && entry.exit) reason = entry.exit->message;
    if (reason.empty()) reason = "its monitor ended before it had started it";
    entry.failed = Error{Code::kIo, fmt::format("start {}: {}", name_of(entry.container), reason)};
  }
  boost::system::error_code ignored;
  entry.pidfd.close(ignored);
  entry.main_pidfd.close(ignored);
  entry.keeper = {};
  if (entry.failed) return take_back(entry);
  if (!entry.exit) {
    entry.exit = RuntimeExit{.code = 137, .known = false, .finished_at = wall_millis()};
    // Lost when the disk is full: the next agent finds nobody and says the same.
    static_cast<void>(entry.directory.write_exit(*entry.exit));
  }
  entry.phase = Entry::Phase::kEnded;
  const ContainerRef container = entry.container;
  const int attempt = entry.attempt;
  const RuntimeExit exit = *entry.exit;
  if (auto started = std::exchange(entry.started, nullptr)) started({});
  if (on_exit_) on_exit_(container, attempt, exit);
}

// Leaves nothing of a start that has failed. REQUIRES: nothing of it runs.
void ProcessRuntime::take_back(Entry& entry) {
  const auto removed = entry.confinement->remove(body_of(entry));
  if (removed && !*removed) {
    // The kernel has not put its processes away yet.
    entry.pause = std::min(entry.pause * 2, kLongestPause);
    return later(entry, entry.pause, [this](Entry& current) { take_back(current); });
  }
  static_cast<void>(entry.directory.remove());
  const auto started = std::exchange(entry.started, nullptr);
  const Error error = *entry.failed;
  entries_.erase(ContainerRef(entry.container));
  if (started) started(error);
}

}  // namespace corehold
