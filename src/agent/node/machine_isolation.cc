// SPDX-License-Identifier: Apache-2.0
#include "agent/node/machine_isolation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/node/machine.h"
#include "manager/placing/fence.h"

namespace corehold {
namespace {

constexpr std::chrono::seconds kLongestPause{60};

IsolationChoice containers_only(std::string why_not) {
  return {.level = IsolationLevel::kContainers, .why_not = std::move(why_not)};
}

}  // namespace

// Inside a container the tasks of the rest of the machine are not even seen. The kernel's own PID
// namespace has this number since Linux 3.8.
Privilege privilege_here() {
  constexpr ino_t kInitialPidNamespace = 0xEFFFFFFCU;
  if (::geteuid() != 0) return Privilege::kNone;
  struct stat status {};
  const bool is_inside =
      ::stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != kInitialPidNamespace;
  return is_inside ? Privilege::kRootOfContainer : Privilege::kRoot;
}

IsolationChoice choose_isolation(const Config& config, Privilege privilege,
                                 const std::optional<FencePlaces>& places) {
  if (config.cpu_manager_policy != CpuManagerPolicy::kStatic) {
    return containers_only("policy none gives no exclusive CPUs");
  }
  const IsolationLevel wanted = config.isolation.level.value_or(IsolationLevel::kFence);
  if (wanted == IsolationLevel::kContainers) return {};
  if (privilege == Privilege::kRootOfContainer) {
    return containers_only(
        "the agent runs in a PID namespace of its own, so that it cannot see the other tasks of "
        "the machine; give its container the machine's (hostPID, --pid=host)");
  }
  if (privilege != Privilege::kRoot) {
    return containers_only("the agent is not root, so that other tasks of the machine stay");
  }
  if (!places) {
    return containers_only("there is no cgroup to write, so that other tasks of the machine stay");
  }
  return {.level = wanted};
}

NodeView::Exclusive exclusive_condition(const IsolationChoice& choice, const FenceState& fence) {
  if (choice.level == IsolationLevel::kContainers) {
    return {.reason = "ContainersOnly",
            .message = fmt::format("only other containers are kept off held CPUs{}{}",
                                   choice.why_not.empty() ? "" : ": ", choice.why_not)};
  }
  if (!fence.confirmed) {
    return {.reason = "Starting", .message = "the rest of the machine is about to be looked at"};
  }
  if (!fence.leftovers.empty()) {
    return {.reason = "Intruders", .message = intruders_text(*fence.confirmed, fence.leftovers)};
  }
  std::string message = fmt::format("held CPUs are kept free of the rest of the machine (level {})",
                                    name_of(choice.level));
  if (!fence.by_nature.empty()) {
    message += fmt::format("; the kernel lets nobody move: {}", leftovers_text(fence.by_nature));
  }
  return {.is_so = true, .reason = "Fenced", .message = std::move(message)};
}

MachineIsolation::MachineIsolation(boost::asio::io_context& loop, const Options& options)
    : loop_(loop),
      level_(options.level),
      places_(options.places),
      log_(options.log),
      isolator_(
          {.journal = journal_path(options.root), .owner = kJournalOwner, .places = options.places},
          units_),
      retry_(loop),
      worker_(loop) {}

void MachineIsolation::begin(const Submit& submit) {
  if (level_ == IsolationLevel::kContainers) return give_back();
  follow_cgroups(submit);
  if (level_ >= IsolationLevel::kIrqs) follow_irqbalance(submit);
}

void MachineIsolation::ask(const IsolationWish& wish, Done done) {
  const auto answer = std::make_shared<Result<IsolationReport>>(IsolationReport{});
  worker_.run([this, wish, answer] { *answer = isolator_.apply(wish); },
              [answer, done = std::move(done)] { done(std::move(*answer)); });
}

void MachineIsolation::isolate(const CpuSet& held, Submit done) {
  // Those too that came after the agent had begun: nobody holds them, and others may use them.
  const auto online = online_cpus();
  if (!online) return done(IsolateFailed{.held = held, .error = online.error()});
  ask({.level = level_, .online = *online, .held = held},
      [held, done = std::move(done)](Result<IsolationReport> report) {
        if (!report) return done(IsolateFailed{.held = held, .error = report.error()});
        done(Isolated{.held = held,
                      .leftovers = std::move(report->leftovers),
                      .displaced = std::move(report->displaced),
                      .pins_restored = report->pins_restored});
      });
}

// One that has begun has forgotten what it was told, or was never told.
void MachineIsolation::follow_irqbalance(const Submit& submit) {
  auto watch = IrqBalance::watch(loop_, IrqBalance::Options{}.directory, [submit] {
    submit(TimerFired{.timer = {.kind = TimerKey::Kind::kReconcile}});
  });
  if (watch) {
    irqbalance_ = *std::move(watch);
  } else {
    log_.warning("a restart of irqbalance is noticed only at the next reconcile",
                 {{"error", watch.error().message}});
  }
}

// What comes into a cgroup that is made after a grant is kept away without waiting for the next
// reconcile.
void MachineIsolation::follow_cgroups(const Submit& submit) {
  auto watch =
      CgroupWatch::begin(loop_, {.places = places_}, [submit] { submit(CgroupCreated{}); });
  if (watch) {
    cgroups_ = *std::move(watch);
  } else {
    log_.warning("a cgroup that somebody makes is noticed only at the next reconcile",
                 {{"error", watch.error().message}});
  }
}

void MachineIsolation::give_back() {
  const auto online = online_cpus();
  if (!online) return give_back_later(online.error().message);
  ask({.online = *online}, [this](const Result<IsolationReport>& report) {
    if (!report) return give_back_later(report.error().message);
    if (!report->leftovers.empty()) give_back_later(leftovers_text(report->leftovers));
  });
}

void MachineIsolation::give_back_later(const std::string& error) {
  log_.warning("what isolation has changed cannot be given back yet; it is tried again",
               {{"error", error}});
  retry_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  retry_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) give_back();
  });
}

}  // namespace corehold
