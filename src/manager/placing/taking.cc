// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/taking.h"

#include <algorithm>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/shrink_delay.h"

namespace corehold {
namespace {

// These are listed again, or may be.
void relist(TakingState& book, const CpuSet& cpus) {
  for (UnlistedCpus& unlisted : book.unlisted) unlisted.cpus -= cpus;
  std::erase_if(book.unlisted, [](const UnlistedCpus& each) { return each.cpus.empty(); });
}

}  // namespace

void watch_files(const PlacingTurn& turn, PlacedPod& pod, const AssignedByContainer& written) {
  for (const auto& [name, assigned] : written) {
    const auto found = pod.containers.find(name);
    if (found == pod.containers.end()) continue;
    TakingState& book = found->second.taking;
    relist(book, assigned.cpus);
    // Whatever an agent before this one has told, this one tells anew.
    const CpuSet gone = book.listed.value_or(book.own) - assigned.cpus;
    book.listed = assigned.cpus;
    if (gone.empty()) continue;
    book.unlisted.push_back(
        {.cpus = gone, .at = turn.now.steady, .delay = scale_delay_of(turn.rules, pod)});
  }
}

void watch_failed_files(PlacedPod& pod, const AssignedByContainer& tried) {
  for (const auto& [name, assigned] : tried) {
    const auto found = pod.containers.find(name);
    if (found == pod.containers.end()) continue;
    TakingState& book = found->second.taking;
    relist(book, assigned.cpus);
    if (book.listed) *book.listed |= assigned.cpus;
  }
}

void watch_asked(const PlacingTurn& turn, PlacedContainer& state) {
  state.taking.asked_at = turn.now.steady;
  state.taking.offline = turn.placing.offline;
}

void watch_taken(PlacingTurn& turn, const ContainerRef& ref, const PlacedContainer& state,
                 const CpuSet& cpus) {
  const TakingState& book = state.taking;
  const CpuSet taken = book.own - cpus - book.offline;
  const bool is_listed = book.listed ? taken.intersects(*book.listed) : !taken.empty();
  const bool is_early =
      std::any_of(book.unlisted.begin(), book.unlisted.end(), [&](const UnlistedCpus& each) {
        return each.cpus.intersects(taken) && book.asked_at < each.at + each.delay;
      });
  if (!is_listed && !is_early) return;
  turn.emit(CountMetric{"corehold_told_after_taken_total", {}});
  turn.warn(ref, "ToldAfterTaken",
            fmt::format("CPUs {} were taken from container {} {}; this is a fault of Corehold",
                        taken.str(), ref.container,
                        is_listed ? "while its files listed them" : "before its delay was over"));
}

void watch_placed(const PlacingState& placing, const ContainerRef& ref, PlacedContainer& state) {
  const Holding* holding = placing.durable.find(ref);
  state.taking.own =
      holding == nullptr ? CpuSet{} : confirmed_cpus(placing, state) & holding->assigned;
  // What it cannot run on any more cannot be taken from it.
  std::erase_if(state.taking.unlisted,
                [&](const UnlistedCpus& each) { return !each.cpus.intersects(state.taking.own); });
}

}  // namespace corehold
