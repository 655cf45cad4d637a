// SPDX-License-Identifier: Apache-2.0
#include "agent/shell.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "agent/describe.h"
#include "agent/seen.h"

namespace corehold {
namespace {

constexpr std::chrono::milliseconds kRemoveAgainAtLast{60'000};

std::optional<Error> error_of(const Result<void>& result) {
  if (result) return std::nullopt;
  return result.error();
}

}  // namespace

Shell::Shell(Brain brain, NodeState node, ShellParts parts)
    : brain_(std::move(brain)), node_(std::move(node)), parts_(std::move(parts)) {}

void Shell::submit(Command command) {
  queue_.push_back(std::move(command));
  if (is_busy_) return;
  is_busy_ = true;
  while (!queue_.empty()) {
    const std::vector<Command> come = std::exchange(queue_, {});
    take(come);
  }
  is_busy_ = false;
}

void Shell::exited(const ContainerRef& container, int attempt, const RuntimeExit& exit) {
  WallTime started_at{};
  if (const auto pod = node_.pods.find(container.pod); pod != node_.pods.end()) {
    const auto& records = pod->second.record.containers;
    if (const auto found = records.find(container.container); found != records.end()) {
      started_at = found->second.started_at;
    }
  }
  submit(ContainerExited{
      .container = container, .attempt = attempt, .exit = exit_of(exit, started_at)});
}

void Shell::take(std::span<const Command> commands) {
  if (parts_.log.is_on(LogLevel::kDebug)) {
    for (const Command& command : commands) {
      parts_.log.debug("command", fields_of(command, node_));
    }
  }
  Outcome outcome = brain_.step(std::move(node_), commands, parts_.now());
  node_ = std::move(outcome.node);
  ++version_;
  check();
  for (const Effect& effect : outcome.effects) run(effect);
  parts_.listener.changed(node_);
}

void Shell::check() {
  if (!brain_.violations) return;
  const std::vector<std::string> broken = brain_.violations(node_);
  for (const std::string& promise : broken) {
    parts_.log.error("a promise is broken", {{"violation", promise}});
  }
  CHECK(broken.empty() || parts_.on_violation == OnViolation::kLog);
}

void Shell::warn(const Effect& effect, const Error& error) {
  LogFields fields = fields_of(effect, node_);
  fields.emplace_back("error", error.message);
  parts_.log.warning("effect failed", fields);
}

void Shell::run(const Effect& effect) {
  if (parts_.log.is_on(LogLevel::kDebug)) parts_.log.debug("effect", fields_of(effect, node_));
  std::visit([this](const auto& typed) { run(typed); }, effect);
}

void Shell::run(const SavePod& effect) {
  const auto saved = parts_.store.save_pod(effect.record);
  if (!saved) warn(effect, saved.error());
  submit(PodSaved{.uid = effect.record.pod.uid, .error = error_of(saved)});
}

void Shell::run(const ForgetPod& effect) {
  const auto forgotten = parts_.store.forget_pod(effect.uid);
  if (!forgotten) warn(effect, forgotten.error());
  submit(PodForgotten{.uid = effect.uid, .error = error_of(forgotten)});
}

void Shell::run(const PersistCheckpoint& effect) {
  const auto saved = parts_.store.save_checkpoint(effect.state);
  if (!saved) warn(effect, saved.error());
  submit(CheckpointSaved{.revision = effect.revision, .error = error_of(saved)});
}

void Shell::run(const WritePodInfo& effect) {
  const auto pod = node_.pods.find(effect.uid);
  if (pod == node_.pods.end()) return;
  const auto written = parts_.workspace.write_podinfo(pod->second.record.pod, effect.assigned);
  if (!written) warn(effect, written.error());
  submit(PodInfoWritten{.uid = effect.uid, .error = error_of(written)});
}

void Shell::run(const SetCpuset& effect) {
  const Confines confines{.cpus = effect.cpus,
                          .mems = effect.mems,
                          .cpu_shares = effect.cpu_shares,
                          .quota_millis = effect.quota};
  parts_.runtime.update(effect.container, confines, [this, effect](const Result<void>& done) {
    if (done) return submit(CpusetApplied{.container = effect.container, .cpus = effect.cpus});
    warn(effect, done.error());
    submit(CpusetFailed{.container = effect.container, .cpus = effect.cpus, .error = done.error()});
  });
}

void Shell::run(const StartContainer& effect) {
  const auto finish = [this, effect](const Result<void>& done) {
    if (done) {
      return submit(ContainerStarted{.container = effect.container, .attempt = effect.attempt});
    }
    warn(effect, done.error());
    submit(StartFailed{
        .container = effect.container, .attempt = effect.attempt, .error = done.error()});
  };
  const auto pod = node_.pods.find(effect.container.pod);
  if (pod == node_.pods.end()) return finish(Error{Code::kNotFound, "its pod has gone"});
  auto launch = parts_.workspace.prepare(pod->second.record, effect);
  if (!launch) return finish(launch.error());
  launch->confines = {.cpus = effect.cpus,
                      .mems = effect.mems,
                      .cpu_shares = effect.cpu_shares,
                      .quota_millis = effect.quota};
  parts_.runtime.start(*launch, finish);
}

void Shell::run(const SignalContainer& effect) {
  const int number = effect.signal == StopSignal::kKill ? SIGKILL : SIGTERM;
  parts_.runtime.signal(effect.container, number, [this, effect](const Result<void>& done) {
    if (!done) warn(effect, done.error());
  });
}

// Nobody waits for it, so that the manager need not know: it is tried until it succeeds.
void Shell::run(const RemoveContainer& effect) {
  parts_.runtime.remove(effect.container, [this, effect](const Result<void>& done) {
    if (done) {
      removal_delays_.erase(effect.container);
      return;
    }
    warn(effect, done.error());
    const auto [delay, is_first] = removal_delays_.emplace(effect.container, parts_.remove_again);
    if (!is_first) delay->second = std::min(2 * delay->second, kRemoveAgainAtLast);
    remove_later(effect.container, delay->second);
  });
}

void Shell::remove_later(const ContainerRef& container, std::chrono::milliseconds after) {
  removals_.erase(container);
  const auto [timer, _] =
      removals_.emplace(container, boost::asio::steady_timer(parts_.loop, after));
  timer->second.async_wait([this, container](const auto& error) {
    if (error) return;
    removals_.erase(container);
    const auto pod = node_.pods.find(container.pod);
    if (pod != node_.pods.end()) {
      // One that has been started anew has taken the place of what was to go.
      const auto state = pod->second.containers.find(container.container);
      if (state != pod->second.containers.end() && state->second.stage != Stage::kIdle) return;
    }
    run(RemoveContainer{container});
  });
}

void Shell::run(const RemovePodFiles& effect) {
  const auto removed = parts_.workspace.remove(effect.uid);
  if (!removed) warn(effect, removed.error());
}

void Shell::run(const StartTimer& effect) {
  const std::uint64_t serial = ++timer_serial_;
  timers_.erase(effect.timer);
  const auto [timer, _] = timers_.emplace(
      effect.timer, Timer{serial, boost::asio::steady_timer(parts_.loop, effect.after)});
  timer->second.timer.async_wait([this, key = effect.timer, serial](const auto& error) {
    // One that has expired and been cancelled before its turn has no error.
    const auto found = timers_.find(key);
    if (error || found == timers_.end() || found->second.serial != serial) return;
    timers_.erase(found);
    submit(TimerFired{.timer = key});
  });
}

void Shell::run(const CancelTimer& effect) { timers_.erase(effect.timer); }

void Shell::run(const Observe&) {
  parts_.runtime.list([this](const Result<std::vector<RuntimeContainer>>& listed) {
    if (!listed) return submit(ObserveFailed{.error = listed.error()});
    const auto online = parts_.online();
    if (!online) return submit(ObserveFailed{.error = online.error()});
    submit(Observed{.seen = seen_of(*listed, parts_.log), .online = *online});
  });
}

void Shell::run(const EmitEvent& effect) {
  LogFields fields = fields_of(effect.about, node_);
  fields.emplace_back("event", effect.reason);
  const Holding* holding = node_.bookings.cpus.find(effect.about);
  if (holding != nullptr) fields.emplace_back("cpus", holding->assigned.str());
  parts_.log.write(effect.type == EmitEvent::Type::kWarning ? LogLevel::kWarning : LogLevel::kInfo,
                   effect.message, fields);
  parts_.listener.happened(effect, node_);
}

void Shell::run(const CountMetric& effect) { parts_.listener.counted(effect); }

void Shell::run(const Reply& effect) { parts_.listener.replied(effect); }

}  // namespace corehold
