// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/shell.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "agent/shell/describe.h"
#include "manager/placing/facts.h"
#include "manager/running/facts.h"

namespace corehold {
namespace {

constexpr std::chrono::milliseconds kRemoveAgainAtLast{60'000};
constexpr std::chrono::milliseconds kHeldAgain{20};  // a timer that is held is looked at again

std::optional<Error> error_of(const Result<void>& result) {
  if (result) return std::nullopt;
  return result.error();
}

Effect effect_of(const StoreEffect& effect) {
  return std::visit([](const auto& typed) -> Effect { return typed; }, effect);
}

// The command that tells what became of an effect.
struct ResultOf {
  std::optional<Error> error{};

  Command operator()(const SavePod& effect) const {
    return PodSaved{.uid = effect.record.pod.uid, .error = error};
  }
  Command operator()(const ForgetPod& effect) const {
    return PodForgotten{.uid = effect.uid, .error = error};
  }
  Command operator()(const PersistCheckpoint& effect) const {
    return CheckpointSaved{.revision = effect.revision, .error = error};
  }
};

}  // namespace

void warn_of_unread_pods(const std::vector<SeenContainer>& seen, const Log& log) {
  for (const SeenContainer& each : seen) {
    if (each.pod_error.empty()) continue;
    log.warning("the runtime's copy of a pod cannot be read",
                {{"uid", each.container.pod},
                 {"container", each.container.container},
                 {"error", each.pod_error}});
  }
}

Shell::Shell(Brain brain, NodeState node, ShellParts parts)
    : brain_(std::move(brain)), node_(std::move(node)), parts_(std::move(parts)) {
  parts_.store.on_answers = [this](std::vector<StoreAnswer> answers) {
    stored(std::move(answers));
  };
}

void Shell::submit(Command command) {
  queue_.push_back(std::move(command));
  work_off();
}

void Shell::submit(std::vector<Command> commands) {
  std::move(commands.begin(), commands.end(), std::back_inserter(queue_));
  work_off();
}

void Shell::work_off() {
  if (is_busy_) return;
  is_busy_ = true;
  while (!queue_.empty()) {
    const std::vector<Command> come = std::exchange(queue_, {});
    take(come);
  }
  is_busy_ = false;
}

void Shell::exited(const ContainerRef& container, int attempt, const ContainerExit& exit) {
  submit(ContainerExited{.container = container, .attempt = attempt, .exit = exit});
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
  for (Effect& effect : outcome.effects) run(std::move(effect));
  parts_.listener.changed(node_, outcome.touched_pods);
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

void Shell::run(Effect effect) {
  if (parts_.log.is_on(LogLevel::kDebug)) parts_.log.debug("effect", fields_of(effect, node_));
  std::visit([this](auto& typed) { run(std::move(typed)); }, effect);
}

void Shell::stored(std::vector<StoreAnswer> answers) {
  std::vector<Command> commands;
  commands.reserve(answers.size());
  for (StoreAnswer& answer : answers) {
    if (answer.error) warn(effect_of(answer.effect), *answer.error);
    commands.push_back(std::visit(ResultOf{.error = std::move(answer.error)}, answer.effect));
  }
  submit(std::move(commands));
}

void Shell::close() {
  for (const StoreAnswer& answer : parts_.store.close()) {
    if (answer.error) warn(effect_of(answer.effect), *answer.error);
  }
}

void Shell::run(const WritePodInfo& effect) {
  parts_.runtime.write_podinfo(
      *effect.pod, effect.assigned, [this, effect](const Result<void>& written) {
        if (!written) warn(effect, written.error());
        submit(PodInfoWritten{.uid = effect.uid, .error = error_of(written)});
      });
}

void Shell::run(const SetCpuset& effect) {
  parts_.runtime.place(
      effect.container, effect.placement, [this, effect](const Result<void>& done) {
        if (done)
          return submit(
              CpusetApplied{.container = effect.container, .cpus = effect.placement.cpus});
        warn(effect, done.error());
        submit(CpusetFailed{
            .container = effect.container, .cpus = effect.placement.cpus, .error = done.error()});
      });
}

void Shell::run(const StartContainer& effect) {
  const auto finish = [this, effect](const Result<Started>& done) {
    if (done) {
      return submit(ContainerStarted{.container = effect.container, .attempt = effect.attempt});
    }
    warn(effect, done.error());
    submit(StartFailed{
        .container = effect.container, .attempt = effect.attempt, .error = done.error()});
  };
  const bool is_run = effect.source == Source::kRun || effect.source == Source::kRunWaiting;
  parts_.runtime.start({.container = effect.container,
                        .attempt = effect.attempt,
                        .pod = effect.pod,
                        .process = is_run ? Start::Process::kWaiting : Start::Process::kOfThePod,
                        .placement = effect.placement},
                       finish);
}

void Shell::run(const SetSharedCpus& effect) {
  parts_.runtime.place_shared(
      effect.cpus, node_.placing.pool.members, [this, effect](const Result<void>& done) {
        if (done) return submit(SharedCpusApplied{.cpus = effect.cpus});
        warn(effect, done.error());
        submit(SharedCpusFailed{.cpus = effect.cpus, .error = done.error()});
      });
}

void Shell::run(const Isolate& effect) {
  parts_.isolate(effect.held, [this, effect](Command answer) {
    if (const auto* failed = std::get_if<IsolateFailed>(&answer)) warn(effect, failed->error);
    submit(std::move(answer));
  });
}

void Shell::run(const StopContainer& effect) {
  parts_.runtime.stop(effect.container, effect.grace, [this, effect](const Result<void>& done) {
    if (!done) warn(effect, done.error());
  });
}

// No effect depends on the removal, so the manager is not told: it is tried until it succeeds.
void Shell::run(const RemoveContainer& effect) {
  parts_.runtime.remove(effect.container, [this, effect](const Result<void>& done) {
    if (!done) warn(effect, done.error());
    // A new run of the container has replaced the remains that were to be removed.
    if (done || done.error().code == Code::kConflict) {
      removal_delays_.erase(effect.container);
      return;
    }
    remove_later(effect.container, [this, effect] { run(effect); });
  });
}

void Shell::run(const RemovePodFiles& effect) {
  parts_.runtime.remove_pod(effect.uid, [this, effect](const Result<void>& removed) {
    const ContainerRef files{.pod = effect.uid, .container = ""};
    if (removed) {
      removal_delays_.erase(files);
      return;
    }
    warn(effect, removed.error());
    remove_later(files, [this, files, effect] {
      // A static pod has the same UID again when its file is put back; the files are its own then.
      const RunPod* pod = find_pod(node_.running, effect.uid);
      if (pod == nullptr || pod->store.is_forgetting()) return run(effect);
      removal_delays_.erase(files);
    });
  });
}

void Shell::remove_pod_files(const std::string& uid) { run(RemovePodFiles{uid}); }

void Shell::remove_later(const ContainerRef& what, std::function<void()> again) {
  const auto [delay, is_first] = removal_delays_.emplace(what, parts_.remove_again);
  if (!is_first) delay->second = std::min(2 * delay->second, kRemoveAgainAtLast);
  removals_.erase(what);
  const auto [timer, _] =
      removals_.emplace(what, boost::asio::steady_timer(parts_.loop, delay->second));
  timer->second.async_wait([this, what, again = std::move(again)](const auto& error) {
    if (error) return;
    removals_.erase(what);
    again();
  });
}

void Shell::run(const StartTimer& effect) {
  timers_.erase(effect.timer);
  const auto [timer, _] = timers_.emplace(
      effect.timer, Timer{++timer_serial_, boost::asio::steady_timer(parts_.loop, effect.after)});
  await(timer->first, timer->second);
}

void Shell::await(const TimerKey& key, Timer& timer) {
  timer.timer.async_wait([this, key, serial = timer.serial](const auto& error) {
    // A timer that had expired before it was cancelled is called without an error.
    const auto found = timers_.find(key);
    if (error || found == timers_.end() || found->second.serial != serial) return;
    if (is_held(key)) {
      found->second.timer.expires_after(kHeldAgain);
      return await(key, found->second);
    }
    timers_.erase(found);
    submit(TimerFired{.timer = key});
  });
}

bool Shell::is_held(const TimerKey& key) const {
  return key.kind == TimerKey::Kind::kDelay && parts_.are_delays_held && parts_.are_delays_held();
}

void Shell::run(const CancelTimer& effect) { timers_.erase(effect.timer); }

void Shell::run(const Observe&) {
  parts_.runtime.list([this](const Result<std::vector<SeenContainer>>& listed) {
    if (!listed) return submit(ObserveFailed{.error = listed.error()});
    const auto online = parts_.online();
    if (!online) return submit(ObserveFailed{.error = online.error()});
    warn_of_unread_pods(*listed, parts_.log);
    submit(Observed{.seen = *listed, .online = *online});
  });
}

void Shell::run(const EmitEvent& effect) {
  LogFields fields = fields_of(effect.about, node_);
  fields.emplace_back("event", effect.reason);
  const Holding* holding = node_.placing.bookings.cpus.find(effect.about);
  if (holding != nullptr) fields.emplace_back("cpus", holding->assigned.str());
  parts_.log.write(effect.type == EmitEvent::Type::kWarning ? LogLevel::kWarning : LogLevel::kInfo,
                   effect.message, fields);
  parts_.listener.happened(effect, node_);
}

void Shell::run(const CountMetric& effect) { parts_.listener.counted(effect); }

void Shell::run(const Reply& effect) { parts_.listener.replied(effect); }

}  // namespace corehold
