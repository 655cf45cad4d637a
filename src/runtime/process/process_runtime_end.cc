// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime ends a container. The end of a container, or the failure of its
// start, is told when none of its processes runs any more: its CPUs are given away then.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "runtime/process/process_runtime_entry.h"

namespace corehold {
namespace {

constexpr std::chrono::milliseconds kKillAgain{10'000};
constexpr std::chrono::milliseconds kLongestGrace = std::chrono::hours{24 * 365};

}  // namespace

void ProcessRuntime::stop(const ContainerRef& container, std::chrono::milliseconds grace,
                          Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) return done({});
  const auto kill_at = std::chrono::steady_clock::now() + std::min(grace, kLongestGrace);
  if (entry->kill_at && *entry->kill_at <= kill_at) return done({});
  const bool is_first = !entry->kill_at;
  entry->kill_at = kill_at;
  if (grace <= std::chrono::milliseconds{}) return done(kill(*entry));
  kill_later(*entry);
  done(is_first ? terminate(*entry) : Result<void>{});
}

Result<void> ProcessRuntime::terminate(Entry& entry) {
  if (entry.phase == Entry::Phase::kStarting) {
    // The process that the signal is for may not be there yet.
    entry.signals.push_back(SIGTERM);
    return {};
  }
  const auto sent = send_signal(entry.main, SIGTERM);
  return sent ? Result<void>{} : Result<void>(sent.error());
}

Result<void> ProcessRuntime::kill(Entry& entry) {
  if (entry.phase == Entry::Phase::kStarting) {
    entry.signals.push_back(SIGKILL);
    entry.is_unwanted = true;
  }
  entry.kill_at = std::chrono::steady_clock::now() + kKillAgain;
  kill_later(entry);
  const auto killed = entry.confinement->kill(processes_of(entry));
  return killed ? Result<void>{} : Result<void>(killed.error());
}

void ProcessRuntime::kill_later(Entry& entry) {
  entry.kill_timer.expires_at(*entry.kill_at);
  entry.kill_timer.async_wait(guarded(entry, [this](Entry& current, boost::system::error_code) {
    if (current.phase == Entry::Phase::kEnded) return;
    if (const auto killed = kill(current); !killed) tell_once(current, killed.error().message);
  }));
}

// Reaps a child of ours.
bool ProcessRuntime::has_supervisor_gone(const Entry& entry) {
  if (entry.supervisor.pid <= 0) return true;
  if (!entry.is_child) return !is_running(entry.supervisor);
  siginfo_t information{};
  const int waited =
      ::waitid(P_PID, static_cast<id_t>(entry.supervisor.pid), &information, WEXITED | WNOHANG);
  return waited != 0 || information.si_pid == entry.supervisor.pid;
}

// A start that has failed: told when nothing of it is left.
void ProcessRuntime::fail(Entry& entry, const Error& error) {
  entry.failed = wrap(fmt::format("start {}", name_of(entry.container)), error);
  if (entry.phase == Entry::Phase::kEnding || entry.phase == Entry::Phase::kEnded) return;
  entry.phase = Entry::Phase::kEnding;
  entry.timer.cancel();
  // A client is told that it failed; what it has is its own again.
  if (entry.is_attached) entry.supervisor = {};
  static_cast<void>(send_signal(entry.supervisor, SIGKILL));
  wait_for_end(entry);
}

// Called when the supervisor has gone or is to go, until nothing of the container is left.
void ProcessRuntime::wait_for_end(Entry& entry) {
  const bool gone = has_supervisor_gone(entry);
  if (gone) entry.supervisor = {};
  const auto left = entry.confinement->kill(processes_of(entry));
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
  entry.supervisor = {};
  if (entry.failed) return take_back(entry);
  if (!entry.exit) {
    entry.exit =
        ContainerExit{.code = 137, .cause = ExitCause::kUnknown, .finished_at = wall_millis()};
    // Lost when the disk is full: the next agent finds no process and says the same.
    static_cast<void>(entry.directory.write_exit(*entry.exit));
  }
  entry.phase = Entry::Phase::kEnded;
  const ContainerRef container = entry.container;
  const int attempt = entry.attempt;
  ContainerExit exit = *entry.exit;
  exit.started_at = entry.started_at;
  if (auto started = std::exchange(entry.started, nullptr)) {
    started(Started{.at = exit.started_at});
  }
  events_.exited(container, attempt, exit);
}

// Leaves nothing of a start that has failed. REQUIRES: nothing of it runs.
void ProcessRuntime::take_back(Entry& entry) {
  const auto removed = entry.confinement->remove(processes_of(entry));
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
