// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/cpusets.h"

#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/fence.h"
#include "manager/placing/resize_events.h"
#include "manager/placing/shrink_delay.h"
#include "manager/placing/taking.h"

namespace corehold {
namespace {

// Null when this is not the answer that the container waits for.
PlacedContainer* asked_for(PlacingTurn& turn, const ContainerRef& ref, const CpuSet& cpus) {
  PlacedContainer* state = find_container(turn.placing, ref);
  if (state == nullptr || state->presence != Presence::kRunning) return nullptr;
  return state->asked == cpus ? state : nullptr;
}

// Where the container is to be. Empty where CPUs are not pinned: then only how much it counts can
// change, as for a container that has nowhere to go because all its CPUs are offline.
std::optional<CpuSet> target_of(const PlacingTurn& turn, const ContainerRef& ref,
                                const PlacedContainer& state) {
  if (!turn.rules.pins_cpus) return CpuSet{};
  auto wanted = wanted_cpus(turn.rules, turn.placing, ref);
  if (!wanted && !state.strayed) return confirmed_cpus(turn.placing, state);
  return wanted;
}

// Where a container can be put now, on its way to where it belongs.
struct Destination {
  CpuSet cpus{};
  bool is_to_pool = false;
};

// Those of the CPUs that no other container may be on.
CpuSet free_of_others(const PlacingState& placing, const ContainerRef& ref, const CpuSet& cpus) {
  CpuSet free;
  for (const CpuId cpu : cpus) {
    if (is_nobody_else_on(placing, ref, CpuSet{cpu})) free.insert(cpu);
  }
  return free;
}

// Whether the container is on CPUs of its own alone, as far as can be seen.
bool is_at_home(const PlacingState& placing, const ContainerRef& ref,
                const PlacedContainer& state) {
  const Holding* holding = placing.durable.find(ref);
  return holding != nullptr && (alone_on(state) - placing.offline).is_subset_of(holding->assigned);
}

// The next place of a container with CPUs of its own; no value: it has to wait. Everybody else has
// to have left CPUs before they are added to those of the container, the rest of the machine too. A
// container that is elsewhere does not wait there, since others may wait for it in turn, even for
// each other in a circle: it leaves for those of its CPUs where it is alone or, without any, for
// the pool.
std::optional<Destination> next_place(PlacingTurn& turn, const ContainerRef& ref,
                                      const PlacedContainer& state, const CpuSet& wanted) {
  // It may be moved with the pool any moment.
  if (state.is_in_pool && turn.placing.pool.asked) return std::nullopt;
  const CpuSet added = wanted - sole_cpus(state);
  if (is_nobody_else_on(turn.placing, ref, added) && is_fenced(turn.rules, turn.placing, added)) {
    return Destination{.cpus = wanted};
  }
  if (state.is_in_pool || is_at_home(turn.placing, ref, state)) return std::nullopt;
  const CpuSet kept = free_of_others(turn.placing, ref, wanted & alone_on(state));
  if (!kept.empty()) {
    if (!is_fenced(turn.rules, turn.placing, kept)) return std::nullopt;
    return Destination{.cpus = kept};
  }
  if (!settle_pool(turn)) return std::nullopt;
  return Destination{.cpus = *turn.placing.pool.confirmed, .is_to_pool = true};
}

// The same for any container. One that shares is never set to where the pool is not, nor while the
// pool moves.
std::optional<Destination> next_place_of(PlacingTurn& turn, const ContainerRef& ref,
                                         const PlacedContainer& state, const CpuSet& wanted,
                                         bool shares) {
  if (!turn.rules.pins_cpus) return Destination{.cpus = wanted};
  if (!shares) return next_place(turn, ref, state, wanted);
  if (!settle_pool(turn)) return std::nullopt;
  return Destination{.cpus = wanted, .is_to_pool = true};
}

void set_cpuset(PlacingTurn& turn, const ContainerRef& ref, PlacedContainer& state) {
  PlacingState& placing = turn.placing;
  const auto wanted = target_of(turn, ref, state);
  if (!wanted) return;
  const Container* container = placing.pods.at(ref.pod).pod.find(ref.container);
  CHECK(container != nullptr);
  const Limits limits = limits_of(placing, ref, *container);
  const bool shares = turn.rules.pins_cpus && placing.durable.find(ref) == nullptr;
  const bool is_there =
      !turn.rules.pins_cpus || (shares && state.is_in_pool && !state.strayed) ||
      (!shares && !state.is_in_pool && !state.strayed && *wanted == state.confirmed);
  if (is_there && !shares && is_nobody_else_on(placing, ref, state.confirmed)) {
    state.shares_confirmed = false;
  }
  if (is_there && state.limits == limits) return;
  const auto next = next_place_of(turn, ref, state, *wanted, shares);
  if (!next) {
    placing.blocked.insert(ref.pod);
    return;
  }
  // What somebody else's move has cost it, the way back does not take.
  if (state.strayed && next->cpus != *wanted) state.taking.own.clear();
  state.setting.ask();
  state.asked = next->cpus;
  state.asked_limits = limits;
  if (next->is_to_pool) placing.pool.set_alone.insert(ref);
  turn.touch(ref, state);
  watch_asked(turn, state);
  turn.emit(SetCpuset{
      .container = ref,
      .placement = {.cpus = next->cpus,
                    .mems = wanted_mems(turn.rules, placing, ref),
                    .limits = limits,
                    .owner = next->is_to_pool ? CpuOwner::kSharedPool : CpuOwner::kContainer}});
}

// The runtime has the container on these CPUs.
void put(PlacingTurn& turn, const ContainerRef& ref, PlacedContainer& state, const CpuSet& cpus) {
  note_overshoot(turn, state, cpus);
  watch_taken(turn, ref, state, cpus);
  state.is_in_pool = turn.placing.pool.set_alone.contains(ref);
  state.confirmed = cpus;
  state.unsure.clear();
  state.shares_confirmed = false;
  watch_placed(turn.placing, ref, state);
}

// Says where a container that is being resized runs from now on.
void note_applied(PlacingTurn& turn, const ContainerRef& ref, const PlacedContainer& state,
                  const CpuSet& cpus) {
  const CpuSet before = confirmed_cpus(turn.placing, state);
  if (before == cpus || turn.placing.durable.find(ref) == nullptr || !state.actual) return;
  turn.note(ref, "CpusetApplied",
            fmt::format("container {} runs on CPUs {}, before that on {}", ref.container,
                        cpus.str(), before.str()));
}

// Whether a new limit comes with a restart, however much memory the container uses now.
bool restarts_for_memory(const PlacingTurn& turn, const ContainerRef& ref) {
  const Container* container = turn.placing.pods.at(ref.pod).pod.find(ref.container);
  if (container == nullptr) return false;
  const auto policy = container->resize_policy.find(std::string(kMemory));
  return policy != container->resize_policy.end() && policy->second == "RestartContainer";
}

// The answer to what was asked has come.
void end_asking(PlacingTurn& turn, const ContainerRef& ref, PlacedContainer& state) {
  state.asked.reset();
  turn.placing.pool.set_alone.erase(ref);
  turn.touch(ref, state);
}

bool is_partition_asked(const PlacedContainer& state) {
  return state.asked_limits && state.asked_limits->partition == CpuPartition::kIsolated;
}

// The container is where it belongs, on a plain cpuset. Asked again the kernel would refuse again:
// whatever is in the way is another cgroup's. So the partition is asked for when the container is
// set for another reason.
void go_without_partition(PlacingTurn& turn, PlacedContainer& state, const CpusetFailed& refusal) {
  on_cpuset_applied(turn, {.container = refusal.container, .cpus = refusal.cpus});
  state.is_partition_refused = true;
  turn.warn(refusal.container, "FailedPartition", refusal.error.message);
}

}  // namespace

void on_cpuset_applied(PlacingTurn& turn, const CpusetApplied& command) {
  const ContainerRef& ref = command.container;
  PlacedContainer* state = asked_for(turn, ref, command.cpus);
  if (state == nullptr) return;
  if (turn.rules.pins_cpus) {
    note_applied(turn, ref, *state, command.cpus);
    put(turn, ref, *state, command.cpus);
  }
  clear_resize_error(turn.placing.pods.at(ref.pod), ref.container);
  state->is_partition_refused = false;
  state->limits = std::exchange(state->asked_limits, std::nullopt);
  state->strayed.reset();
  state->setting.succeed();
  end_asking(turn, ref, *state);
}

void on_cpuset_failed(PlacingTurn& turn, const CpusetFailed& command) {
  const ContainerRef& ref = command.container;
  PlacedContainer* state = asked_for(turn, ref, command.cpus);
  if (state == nullptr) return;
  if (command.error.code == Code::kUnsupported && is_partition_asked(*state)) {
    return go_without_partition(turn, *state, command);
  }
  const bool is_placed = command.error.code == Code::kConflict;
  if (is_placed && restarts_for_memory(turn, ref)) {
    return on_cpuset_applied(turn, {.container = ref, .cpus = command.cpus});
  }
  if (is_placed && turn.rules.pins_cpus) {
    put(turn, ref, *state, command.cpus);
    state->strayed.reset();
  } else {
    watch_taken(turn, ref, *state, command.cpus);
    // How far it got is not known.
    const CpuSet before = confirmed_cpus(turn.placing, *state);
    state->unsure |= (before | command.cpus) - (before & command.cpus);
    state->confirmed = before | command.cpus;
    state->shares_confirmed |= turn.placing.pool.set_alone.contains(ref);
    state->is_in_pool = false;
  }
  state->asked_limits.reset();
  state->limits.reset();
  end_asking(turn, ref, *state);
  if (is_placed) {
    report_resize_error(turn, ref, command.error.message);
  } else {
    const std::string message =
        fmt::format("cannot set the CPUs of container {} to {}: {}", ref.container,
                    command.cpus.str(), command.error.message);
    turn.emit(CountMetric{"corehold_cpuset_apply_failures_total", {}});
    turn.warn(ref, "FailedCpuset", message);
    report_resize_error(turn, ref, message);
  }
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, ref}, .after = state->setting.fail()});
}

bool settle_pool(PlacingTurn& turn) {
  SharedPool& pool = turn.placing.pool;
  const auto target = pool_target(turn.placing);
  if (pool.asked) return false;
  // None of its CPUs is online: containers stay where the kernel lets them run.
  if (!target) return false;
  if (pool.confirmed == *target) return true;
  // A container of the pool that is being set by itself must not be set to where the pool was.
  if (!pool.setting.may_ask() || !pool.set_alone.empty()) return false;
  pool.setting.ask();
  pool.asked = *target;
  turn.emit(SetSharedCpus{*target});
  return false;
}

void on_shared_cpus_applied(PlacingTurn& turn, const SharedCpusApplied& command) {
  SharedPool& pool = turn.placing.pool;
  if (pool.asked != command.cpus) return;
  pool.confirmed = command.cpus;
  pool.possible.clear();
  pool.strayed = false;
  pool.asked.reset();
  pool.setting.succeed();
  pool.changed = turn.placing.turn;
}

void on_shared_cpus_failed(PlacingTurn& turn, const SharedCpusFailed& command) {
  SharedPool& pool = turn.placing.pool;
  if (pool.asked != command.cpus) return;
  // How far it got is not known.
  if (pool.confirmed) pool.possible = *pool.confirmed;
  pool.possible |= command.cpus;
  pool.confirmed.reset();
  pool.asked.reset();
  pool.changed = turn.placing.turn;
  turn.emit(CountMetric{"corehold_cpuset_apply_failures_total", {}});
  turn.warn({}, "FailedCpuset",
            fmt::format("cannot set the CPUs of the containers that share to {}: {}",
                        command.cpus.str(), command.error.message));
  turn.emit(StartTimer{.timer = {TimerKey::Kind::kRetry, {}}, .after = pool.setting.fail()});
}

void set_cpusets(PlacingTurn& turn) {
  PlacingState& placing = turn.placing;
  if (turn.rules.pins_cpus && placing.saved_revision == 0) return;
  if (turn.rules.pins_cpus && !placing.pool.members.empty()) settle_pool(turn);
  settle_fence(turn);
  for (const bool exclusive : {false, true}) {
    // Setting a container adds its pod to the work, where it is already.
    for (const std::string& uid : placing.work) {
      PlacedPod* pod = find_pod(placing, uid);
      if (pod == nullptr) continue;
      for (auto& [name, state] : pod->containers) {
        if (state.presence != Presence::kRunning || !state.setting.may_ask()) continue;
        const ContainerRef ref{uid, name};
        if ((placing.durable.find(ref) != nullptr) != exclusive) continue;
        set_cpuset(turn, ref, state);
      }
    }
  }
}

}  // namespace corehold
