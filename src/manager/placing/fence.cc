// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/fence.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corehold {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string named(std::vector<std::string> all) {
  const std::size_t more = all.size() > kMostNamed ? all.size() - kMostNamed : 0;
  all.resize(all.size() - more);
  std::string text = fmt::format("{}", fmt::join(all, "; "));
  if (more > 0) text += fmt::format("; and {} more", more);
  return text;
}

void tell_leftovers(PlacingTurn& turn, const CpuSet& held, std::vector<Leftover> leftovers) {
  FenceState& fence = turn.placing.fence;
  if (fence.leftovers == leftovers) return;
  const bool was_clean = fence.leftovers.empty();
  fence.leftovers = std::move(leftovers);
  if (!fence.leftovers.empty()) {
    turn.warn({}, "CpusNotExclusive", intruders_text(held, fence.leftovers));
  } else if (!was_clean) {
    turn.note({}, "CpusExclusive", "held CPUs are kept free of the rest of the machine again");
  }
}

// Tasks whose pin cannot be kept are named once for as long as it stays so.
void tell_displaced(PlacingTurn& turn, const CpuSet& held, const std::vector<std::string>& tasks) {
  FenceState& fence = turn.placing.fence;
  std::vector<std::string> fresh;
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(fresh), [&](const auto& task) {
    return std::find(fence.displaced.begin(), fence.displaced.end(), task) == fence.displaced.end();
  });
  fence.displaced = tasks;
  if (fresh.empty()) return;
  turn.warn({}, "TasksDisplaced",
            fmt::format("run elsewhere until CPUs {} are given back: {}", held.str(),
                        named(std::move(fresh))));
}

void answered(PlacingTurn& turn, const CpuSet& held) {
  FenceState& fence = turn.placing.fence;
  fence.confirmed = held;
  fence.asked.reset();
}

}  // namespace

std::string leftovers_text(const std::vector<Leftover>& leftovers) {
  std::vector<std::string> all;
  all.reserve(leftovers.size());
  for (const Leftover& each : leftovers) {
    all.push_back(each.reason.empty() ? each.what : fmt::format("{} ({})", each.what, each.reason));
  }
  return named(std::move(all));
}

std::string intruders_text(const CpuSet& held, const std::vector<Leftover>& leftovers) {
  // Without held CPUs the machine is to be as it was.
  if (held.empty()) return fmt::format("not yet given back: {}", leftovers_text(leftovers));
  return fmt::format("not kept off CPUs {}: {}", held.str(), leftovers_text(leftovers));
}

bool is_fenced(const ManagerRules& rules, const PlacingState& placing, const CpuSet& cpus) {
  if (!rules.fences) return true;
  const FenceState& fence = placing.fence;
  if (!fence.confirmed || !cpus.is_subset_of(*fence.confirmed)) return false;
  return !fence.asked || cpus.is_subset_of(*fence.asked);
}

void settle_fence(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  FenceState& fence = placing.fence;
  if (!turn.rules.fences || placing.saved_revision == 0 || fence.asked) return;
  const CpuSet& target = placing.durable.exclusive();
  if (fence.confirmed == target) {
    if (!fence.is_due || !fence.setting.may_ask()) return;
  } else if (fence.setting.is_waiting()) {
    // What failed was something else.
    fence.setting.drop();
    turn.emit(CancelTimer{{TimerKey::Kind::kFence, {}}});
  }
  fence.setting.ask();
  fence.asked = target;
  fence.is_due = false;
  turn.emit(Isolate{target});
}

void recheck_fence(PlacingTurn& turn) {
  FenceState& fence = turn.placing.fence;
  if (!turn.rules.fences || !fence.confirmed) return;
  if (!fence.confirmed->empty() || !fence.leftovers.empty()) fence.is_due = true;
}

void on_isolated(PlacingTurn& turn, const Isolated& command) {
  FenceState& fence = turn.placing.fence;
  if (fence.asked != command.held) return;
  answered(turn, command.held);
  fence.setting.succeed();
  tell_leftovers(turn, command.held, command.leftovers);
  tell_displaced(turn, command.held, command.displaced);
}

void on_isolate_failed(PlacingTurn& turn, const IsolateFailed& command) {
  FenceState& fence = turn.placing.fence;
  if (fence.asked != command.held) return;
  answered(turn, command.held);
  fence.is_due = true;
  turn.emit(CountMetric{"corehold_isolation_failures_total", {}});
  tell_leftovers(turn, command.held,
                 {{.what = "the rest of the machine", .reason = command.error.message}});
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kFence, {}}, .after = fence.setting.fail()});
}

}  // namespace corehold
