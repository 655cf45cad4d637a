// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/drift.h"

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/ledger.h"
#include "manager/placing/taking.h"

namespace corehold {
namespace {

constexpr const char* kIsolated = "isolated";

// Whether the CPUs of the container were made a partition and are none any more.
bool has_lost_partition(const PlacedContainer& state, const SeenContainer& seen) {
  return state.limits && state.limits->partition == CpuPartition::kIsolated &&
         !state.is_partition_refused && seen.partition && *seen.partition != kIsolated;
}

// Whether the kernel lets the container run where it was put.
bool is_in_place(const PlacingTurn& turn, const ContainerRef& ref, const PlacedContainer& state,
                 const SeenContainer& seen) {
  const PlacingState& placing = turn.placing;
  if (!turn.rules.pins_cpus) return true;
  if (!wanted_cpus(turn.rules, placing, ref)) return true;
  return !seen.strayed && !has_lost_partition(state, seen) &&
         seen.cpus - placing.offline == confirmed_cpus(placing, state) - placing.offline;
}

void report_drift(PlacingTurn& turn, const ContainerRef& ref, PlacedContainer& state,
                  const SeenContainer& seen) {
  state.strayed = seen.cpus;
  turn.touch(ref, state);
  turn.emit(CountMetric{"corehold_drift_repairs_total", {}});
  if (has_lost_partition(state, seen)) {
    turn.warn(
        ref, "PartitionLost",
        fmt::format("container {} has lost its isolated partition of CPUs {}, the kernel says "
                    "\"{}\": another cgroup may have been given these CPUs; it is tried once "
                    "to make it one again",
                    ref.container, confirmed_cpus(turn.placing, state).str(), *seen.partition));
    return;
  }
  turn.warn(
      ref, "CpusetDriftRepaired",
      fmt::format("container {} was found on CPUs {}{}, not {}; it is put back", ref.container,
                  seen.cpus.str(), seen.strayed ? ", with threads outside its confines" : "",
                  confirmed_cpus(turn.placing, state).str()));
}

// The container runs on CPUs that the checkpoint does not give it: the checkpoint is older than the
// container's place, or somebody has moved the container while there was no agent.
bool is_outside_holding(const PlacingTurn& turn, const SeenContainer& seen) {
  const Holding* holding = turn.placing.durable.find(seen.container);
  if (!turn.rules.pins_cpus || holding == nullptr) return false;
  return !seen.cpus.is_subset_of(holding->assigned);
}

void report_outside_holding(PlacingTurn& turn, const SeenContainer& seen) {
  const Holding* holding = turn.placing.durable.find(seen.container);
  turn.emit(CountMetric{"corehold_drift_repairs_total", {}});
  turn.warn(
      seen.container, "CpusetDriftRepaired",
      fmt::format("container {} was found on CPUs {}; the checkpoint gives it {}, where it is "
                  "put",
                  seen.container.container, seen.cpus.str(), holding->assigned.str()));
}

// Whether where containers of the pool were seen is not older than where the pool is known to be.
bool is_pool_news(const SharedPool& pool, std::uint64_t since) {
  return pool.confirmed && !pool.asked && pool.changed < since;
}

// Takes the container, which has no CPUs of its own and was seen on these, into the pool. Whether
// it is where the pool is, or is put there together with the pool.
bool join_pool(const PlacingTurn& turn, const CpuSet& cpus) {
  SharedPool& pool = turn.placing.pool;
  const auto target = pool_target(turn.placing);
  if (!target) return false;
  if (pool.confirmed == cpus) return true;
  if (!pool.confirmed && pool.asked) {
    pool.possible |= cpus;
    return true;
  }
  const bool is_first = !pool.confirmed && pool.members.empty() && pool.possible.empty();
  if (is_first && cpus == *target) {
    pool.confirmed = cpus;
    return true;
  }
  if (pool.asked || turn.placing.saved_revision != 0) return false;
  // At the beginning of a life: all that share are put where they belong together.
  if (pool.confirmed) pool.possible |= *pool.confirmed;
  pool.possible |= cpus;
  pool.confirmed.reset();
  pool.strayed = true;
  return true;
}

// The holders of CPUs that have gone are told what is left of them.
void warn_holders(PlacingTurn& turn, const CpuSet& lost, const CpuSet& offline) {
  for (const auto& [uid, containers] : turn.placing.durable.pods) {
    for (const auto& [name, holding] : containers) {
      const CpuSet gone = holding.assigned & lost;
      if (gone.empty()) continue;
      const CpuSet left = holding.assigned - offline;
      turn.warn(
          {uid, name}, "CpusOffline",
          left.empty()
              ? fmt::format("CPUs {} of container {} went offline; it has no other", gone.str(),
                            name)
              : fmt::format("CPUs {} of container {} went offline; {} are left until they are back",
                            gone.str(), name, left.str()));
    }
  }
}

}  // namespace

bool is_news(const PlacedContainer& state, std::uint64_t since) {
  if (state.presence == Presence::kStarting || state.asked) return false;
  return state.changed < since;
}

void check_drift(PlacingTurn& turn, const SeenContainer& seen, std::uint64_t since) {
  const ContainerRef& ref = seen.container;
  PlacedContainer& state = *find_container(turn.placing, ref);
  if (state.is_in_pool && !is_pool_news(turn.placing.pool, since)) return;
  // The kernel itself makes a partition valid again when nothing is in its way any more.
  if (seen.partition == kIsolated) state.is_partition_refused = false;
  if (state.strayed || is_in_place(turn, ref, state, seen)) return;
  report_drift(turn, ref, state, seen);
}

void take_in(PlacingTurn& turn, const SeenContainer& seen) {
  PlacingState& placing = turn.placing;
  PlacedPod& pod = placing.pods.at(seen.container.pod);
  PlacedContainer& state = pod.containers.at(seen.container.container);
  // A container whose CPUs the checkpoint has lost may be given them again where it is.
  const bool shares = turn.rules.pins_cpus && state.exclusive == 0 &&
                      placing.durable.find(seen.container) == nullptr;
  state.presence = Presence::kRunning;
  state.confirmed = seen.cpus;
  state.unsure.clear();
  state.shares_confirmed = true;
  state.asked.reset();
  state.setting.drop();
  state.is_partition_refused = false;
  placing.pool.set_alone.erase(seen.container);
  // Its cpuset may name offline CPUs as well; that cannot be seen.
  const CpuSet possible = seen.cpus | placing.offline;
  const auto wanted = wanted_cpus(turn.rules, placing, seen.container);
  if (shares) {
    state.is_in_pool = true;
    if (seen.strayed || !join_pool(turn, possible)) state.strayed = possible;
  } else {
    state.is_in_pool = false;
    // Only at the beginning of a life may a container be given CPUs because it is there.
    const bool lacks_cpus = placing.saved_revision != 0 && state.exclusive > 0 &&
                            placing.durable.find(seen.container) == nullptr;
    if (wanted && (seen.strayed || lacks_cpus || !possible.is_subset_of(*wanted))) {
      state.strayed = possible;
    }
    // None of its own is online: the kernel lets it run wherever it finds a place.
    if (!wanted && turn.rules.pins_cpus) state.strayed = possible;
  }
  watch_placed(placing, seen.container, state);
  if (is_outside_holding(turn, seen)) {
    report_outside_holding(turn, seen);
    // Nobody knows which of its CPUs it was put on as its own.
    state.taking.own.clear();
  }
  const Container* container = pod.pod.find(seen.container.container);
  state.limits.reset();
  if (!state.actual && container != nullptr) {
    state.limits = limits_of(placing, seen.container, *container);
  }
  turn.touch(seen.container, state);
}

void set_online(PlacingTurn& turn, const CpuSet& online) {
  if (online.empty()) return;
  const CpuSet offline = turn.rules.admission.topology.cpus() - online;
  const CpuSet lost = offline - turn.placing.offline;
  const CpuSet back = turn.placing.offline - offline;
  if (!lost.empty()) {
    turn.warn({}, "CpusOffline",
              fmt::format("CPUs {} went offline; nobody is given them", lost.str()));
    warn_holders(turn, lost, offline);
  }
  if (!back.empty()) {
    turn.note({}, "CpusOnline", fmt::format("CPUs {} are online again", back.str()));
  }
  if (offline == turn.placing.offline) return;
  turn.placing.offline = offline;
  // What waited for CPUs that have gone may wait in vain now, and be told so.
  change_room(turn);
  turn.touch_all();
}

}  // namespace corehold
