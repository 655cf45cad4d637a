// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/fence.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manager/placing/facts.h"

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

const std::string& name_of(const std::string& task) { return task; }
const std::string& name_of(const Leftover& leftover) { return leftover.what; }

// Those of `now` that were not there before, by name. Anybody can make many tasks: not each with
// each.
template <typename Item>
std::vector<Item> newcomers(const std::vector<Item>& now, const std::vector<Item>& before) {
  std::set<std::string_view> known;
  for (const Item& item : before) known.insert(name_of(item));
  std::vector<Item> fresh;
  std::copy_if(now.begin(), now.end(), std::back_inserter(fresh),
               [&](const Item& item) { return !known.contains(name_of(item)); });
  return fresh;
}

// Takes out what the kernel moves for nobody.
std::vector<Leftover> take_by_nature(std::vector<Leftover>& leftovers) {
  const auto first = std::stable_partition(
      leftovers.begin(), leftovers.end(),
      [](const Leftover& each) { return each.stays == Leftover::Stays::kForNow; });
  std::vector<Leftover> taken(first, leftovers.end());
  leftovers.erase(first, leftovers.end());
  return taken;
}

// That is how this machine is, and no warning; named once for as long as it stays so.
void tell_by_nature(PlacingTurn& turn, const CpuSet& held, const std::vector<Leftover>& leftovers) {
  FenceState& fence = turn.placing.fence;
  const auto fresh = newcomers(leftovers, fence.by_nature);
  fence.by_nature = leftovers;
  if (fresh.empty()) return;
  turn.note({}, "NotMovable",
            fmt::format("come to CPUs {} all the same: {}", held.str(), leftovers_text(fresh)));
}

// The containers that hold some of these CPUs and have still to be put there.
std::vector<ContainerRef> waiting_for(PlacingState& placing, const CpuSet& cpus) {
  std::vector<ContainerRef> waiting;
  for (const auto& [uid, containers] : placing.durable.pods) {
    for (const auto& [name, holding] : containers) {
      const PlacedContainer* state = find_container(placing, {uid, name});
      if (state == nullptr) continue;
      const CpuSet missing = holding.assigned - confirmed_cpus(placing, *state);
      if (missing.intersects(cpus)) waiting.push_back({uid, name});
    }
  }
  return waiting;
}

// Tasks whose pin cannot be kept are named once for as long as it stays so: to the containers that
// wait for CPUs which are `added` to the fence, and to the node where none does.
void tell_displaced(PlacingTurn& turn, const CpuSet& held, const CpuSet& added,
                    const std::vector<std::string>& tasks) {
  FenceState& fence = turn.placing.fence;
  std::vector<std::string> fresh = newcomers(tasks, fence.displaced);
  fence.displaced = tasks;
  if (fresh.empty()) return;
  const auto text = [names = named(std::move(fresh))](const CpuSet& cpus) {
    return fmt::format("run elsewhere until CPUs {} are given back: {}", cpus.str(), names);
  };
  const std::vector<ContainerRef> waiting = waiting_for(turn.placing, added);
  if (waiting.empty()) turn.warn({}, "TasksDisplaced", text(held));
  for (const ContainerRef& ref : waiting) turn.warn(ref, "TasksDisplaced", text(added));
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
  if (!turn.rules.fences) return;
  const auto keeps_away = [](const std::optional<CpuSet>& held) { return held && !held->empty(); };
  // What is being done may have looked before.
  const bool is_fenced = keeps_away(fence.confirmed) || keeps_away(fence.asked);
  if (is_fenced || !fence.leftovers.empty()) fence.is_due = true;
}

void on_isolated(PlacingTurn& turn, const Isolated& command) {
  FenceState& fence = turn.placing.fence;
  if (command.pins_restored > 0) {
    turn.emit(CountMetric{.name = "corehold_pins_restored_total", .more = command.pins_restored});
  }
  if (fence.asked != command.held) return;
  const CpuSet added = command.held - fence.confirmed.value_or(CpuSet{});
  answered(turn, command.held);
  fence.setting.succeed();
  std::vector<Leftover> leftovers = command.leftovers;
  const std::vector<Leftover> by_nature = take_by_nature(leftovers);
  tell_leftovers(turn, command.held, std::move(leftovers));
  tell_by_nature(turn, command.held, by_nature);
  tell_displaced(turn, command.held, added, command.displaced);
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
