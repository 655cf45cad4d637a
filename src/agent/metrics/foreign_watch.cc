// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/foreign_watch.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace corehold {
namespace {

// So many times as long as a look takes is the shortest pause behind it.
constexpr int kShare = 50;

// CPU time of this thread: what a look costs, however long it had to wait for a CPU.
std::chrono::nanoseconds own_time() {
  timespec time{};
  static_cast<void>(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time));
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

CpuSet held_by(const std::vector<QuietHolder>& holders) {
  CpuSet held;
  for (const QuietHolder& holder : holders) held |= holder.cpus;
  return held;
}

// The CPUs that had the same holder at both looks.
CpuSet kept(const std::vector<QuietHolder>& before, const std::vector<QuietHolder>& after) {
  CpuSet cpus;
  for (const QuietHolder& holder : after) {
    for (const QuietHolder& earlier : before) {
      if (earlier.name == holder.name) cpus |= earlier.cpus & holder.cpus;
    }
  }
  return cpus;
}

}  // namespace

std::vector<QuietHolder> quiet_holders(const State& cpus) {
  std::vector<QuietHolder> holders;
  for (const auto& [uid, containers] : cpus.pods) {
    for (const auto& [name, holding] : containers) {
      const std::string cgroup = fmt::format("/{}/{}", uid, name);
      holders.push_back({.name = cgroup, .cpus = holding.assigned, .cgroup = cgroup});
    }
  }
  return holders;
}

ForeignWatch::ForeignWatch(Parts parts) : parts_(std::move(parts)), timer_(parts_.loop) {}

void ForeignWatch::look() {
  // Shared by work and what follows it, of which only one runs at a time.
  struct Found {
    std::vector<QuietHolder> holders{};
    std::optional<QuietReport> report{};
    std::chrono::nanoseconds took{};
  };
  const auto found = std::make_shared<Found>();
  found->holders = parts_.holders();
  parts_.worker.run(
      [this, found] {
        const auto begun = own_time();
        found->report = compare(found->holders);
        found->took = own_time() - begun;
      },
      [this, found] {
        parts_.tell(found->report.value_or(QuietReport{}));
        wait(found->took);
      });
}

std::optional<QuietReport> ForeignWatch::compare(const std::vector<QuietHolder>& holders) {
  Look now{.holders = holders};
  const CpuSet held = held_by(holders);
  if (!held.empty()) {
    if (auto machine = parts_.read(held)) now.machine = *std::move(machine);
  }
  const Look before = std::exchange(last_, std::move(now));
  const CpuSet cpus = kept(before.holders, holders);
  if (!before.machine || !last_.machine || cpus.empty()) return std::nullopt;
  auto kernel = parts_.read_kernel();
  if (!kernel) return std::nullopt;
  return quiet_report({.cpus = cpus, .holders = holders, .kernel = *std::move(kernel)},
                      *before.machine, *last_.machine);
}

void ForeignWatch::wait(std::chrono::nanoseconds took) {
  timer_.expires_after(std::max<std::chrono::nanoseconds>(parts_.period, took * kShare));
  timer_.async_wait([this](const auto& error) {
    if (!error) look();
  });
}

}  // namespace corehold
