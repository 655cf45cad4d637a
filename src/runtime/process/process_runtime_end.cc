// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime ends a container. The end of a container, or the failure of its
// start, is told when none of its processes runs any more: its CPUs are given away then.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include <fmt/format.h>

#include "runtime/process/command_notes.h"
#include "runtime/process/process_runtime_entry.h"

namespace corehold {
namespace {

constexpr std::chrono::milliseconds kKillAgain{10'000};
constexpr std::chrono::milliseconds kLongestGrace = std::chrono::hours{24 * 365};

// How far a container is with its end.
struct Ending {
  bool is_supervisor_gone = false;
  Result<std::size_t> left{0};  // processes
  std::optional<ContainerExit> exit{};
};

// Reaps a child of ours.
bool has_gone(const ProcessId& supervisor, bool is_child) {
  if (supervisor.pid <= 0) return true;
  if (!is_child) return !is_running(supervisor);
  siginfo_t information{};
  const int waited =
      ::waitid(P_PID, static_cast<id_t>(supervisor.pid), &information, WEXITED | WNOHANG);
  return waited != 0 || information.si_pid == supervisor.pid;
}

}  // namespace

void ProcessRuntime::stop(const ContainerRef& container, std::chrono::milliseconds grace,
                          Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) return done({});
  const auto kill_at = std::chrono::steady_clock::now() + std::min(grace, kLongestGrace);
  if (entry->kill_at && *entry->kill_at <= kill_at) return done({});
  const bool is_first = !entry->kill_at;
  entry->kill_at = kill_at;
  if (grace <= std::chrono::milliseconds{}) return kill(*entry, std::move(done));
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

void ProcessRuntime::kill(Entry& entry, Done<void> done) {
  if (entry.phase == Entry::Phase::kStarting) {
    entry.signals.push_back(SIGKILL);
    entry.is_unwanted = true;
  }
  entry.kill_at = std::chrono::steady_clock::now() + kKillAgain;
  kill_later(entry);
  beside(
      entry.lane,
      [subject = subject_of(entry)]() -> Result<void> {
        TRY(subject.kill());
        return {};
      },
      std::move(done));
}

void ProcessRuntime::kill_later(Entry& entry) {
  entry.kill_timer.expires_at(*entry.kill_at);
  entry.kill_timer.async_wait(guarded(entry, [this](Entry& current, boost::system::error_code) {
    if (current.phase == Entry::Phase::kEnded) return;
    const auto tell = [this, container = current.container,
                       generation = current.generation](const Result<void>& killed) {
      Entry* still = find(container);
      if (killed || still == nullptr || still->generation != generation) return;
      tell_once(*still, killed.error().message);
    };
    kill(current, tell);
  }));
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
  beside(
      entry,
      [subject = subject_of(entry), is_child = entry.is_child]() -> Result<Ending> {
        Ending ending{.is_supervisor_gone = has_gone(subject.supervisor, is_child)};
        ending.left = subject.kill();
        if (const auto kept = subject.directory.read_exit()) ending.exit = kept->exit;
        return ending;
      },
      [this](Entry& current, const Result<Ending>& looked) {
        const Ending ending = looked ? *looked : Ending{.left = looked.error()};
        const bool is_gone = ending.is_supervisor_gone;
        if (is_gone) current.supervisor = {};
        // A client waits until its CPUs are free, and keeps what its command has left behind.
        if (ending.left && *ending.left == 0 && (is_gone || current.is_attached)) {
          return finish(current, ending.exit);
        }
        current.pause = std::min(current.pause * 2, kLongestPause);
        if (current.pause == kLongestPause) {
          tell_once(current, fmt::format("{}; its CPUs stay its own until nothing of it is left",
                                         ending.left ? fmt::format("{} processes cannot be killed",
                                                                   *ending.left)
                                                     : ending.left.error().message));
        }
        later(current, current.pause, [this](Entry& again) { wait_for_end(again); });
      });
}

// `kept` is what the monitor has written down.
void ProcessRuntime::finish(Entry& entry, const std::optional<ContainerExit>& kept) {
  // What the monitor said last may still be on its way.
  if (entry.channel.is_open()) {
    static_cast<void>(hear_all(entry));
    boost::system::error_code error;
    entry.channel.close(error);
  }
  if (kept) entry.exit = kept;
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
  if (entry.is_attached && entry.confinement->capabilities().confined_by == ConfinedBy::kAffinity) {
    beside(
        entry.lane,
        [root = root(), mark = entry.mark]() -> Result<void> {
          forget_command(root, mark);
          return {};
        },
        [](const Result<void>&) {});
  }
  if (entry.failed) return take_back(entry);
  if (!entry.exit) {
    entry.exit =
        ContainerExit{.code = 137, .cause = ExitCause::kUnknown, .finished_at = wall_millis()};
    // Lost when the disk is full or this agent ends: the next one finds no process and says the
    // same.
    beside(
        entry.lane,
        [directory = entry.directory, exit = *entry.exit, attempt = entry.attempt] {
          return directory.write_exit(exit, attempt);
        },
        [](const Result<void>&) {});
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
  beside(
      entry,
      [subject = subject_of(entry)]() -> Result<bool> {
        const auto removed = subject.remove();
        if (removed && !*removed) return false;
        static_cast<void>(subject.directory.remove());
        return true;
      },
      [this](Entry& current, const Result<bool>& removed) {
        if (removed && !*removed) {
          // The kernel has not put its processes away yet.
          current.pause = std::min(current.pause * 2, kLongestPause);
          return later(current, current.pause, [this](Entry& again) { take_back(again); });
        }
        const auto started = std::exchange(current.started, nullptr);
        const Error error = *current.failed;
        forget(ContainerRef(current.container));
        if (started) started(error);
      });
}

}  // namespace corehold
