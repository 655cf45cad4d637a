// SPDX-License-Identifier: Apache-2.0
#include "manager/placing/facts.h"

#include <algorithm>

#include "manager/placing/placing_turn.h"

namespace corehold {
namespace {

// The CPUs that are the container's own by what is durable, less those that it has given up.
std::optional<CpuSet> own_cpus(const PlacingState& placing, const ContainerRef& ref) {
  const Holding* holding = placing.durable.find(ref);
  if (holding == nullptr) return std::nullopt;
  const Holding* booked = placing.bookings.cpus.find(ref);
  return booked == nullptr ? holding->assigned : holding->assigned & booked->assigned;
}

// The CPUs that a container in the middle of a resize can run on whatever has become of what
// the runtime was asked for.
CpuSet surely_on(const PlacingState& placing, const PlacedContainer& state) {
  if (state.presence == Presence::kStarting) return state.asked.value_or(CpuSet{});
  CpuSet cpus = confirmed_cpus(placing, state) - state.unsure;
  if (state.asked) cpus &= *state.asked;
  return cpus;
}

// cgroup v1 shares for a request, as the kubelet computes them.
int cpu_shares(const Container& container) {
  constexpr std::int64_t kLeast = 2;
  constexpr std::int64_t kMost = 262'144;
  const std::int64_t milli = container.request(kCpu).milli_value();
  if (milli <= 0) return kLeast;
  if (milli > kMost) return kMost;
  return static_cast<int>(std::clamp(milli * 1024 / 1000, kLeast, kMost));
}

// Where the containers of the pool may be.
CpuSet pool_may_run_on(const SharedPool& pool) {
  CpuSet cpus = pool.confirmed ? *pool.confirmed : pool.possible;
  if (pool.asked) cpus |= *pool.asked;
  return cpus;
}

}  // namespace

CpuSet alone_on(const PlacedContainer& container) {
  if (container.presence == Presence::kAbsent) return {};
  CpuSet cpus;
  if (!container.is_in_pool) cpus = container.confirmed;
  if (container.asked) cpus |= *container.asked;
  if (container.strayed) cpus |= *container.strayed;
  return cpus;
}

bool is_resizing(const PlacedPod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& entry) { return entry.second.actual.has_value(); });
}

CpuSet may_run_on(const PlacingState& placing, const PlacedContainer& container) {
  CpuSet cpus = alone_on(container);
  const bool is_there = container.presence != Presence::kAbsent;
  if (is_there && container.is_in_pool) cpus |= pool_may_run_on(placing.pool);
  return cpus;
}

Occupancy::Owner owner_of(const PlacingState& placing, const ContainerRef& ref) {
  const bool holds = placing.durable.find(ref) != nullptr;
  return holds ? Occupancy::Owner::kHolder : Occupancy::Owner::kOther;
}

void PlacingTurn::touch(const ContainerRef& ref, PlacedContainer& container) const {
  container.changed = placing.turn;
  count(ref, container);
  if (container.presence != Presence::kAbsent && container.is_in_pool) {
    placing.pool.members.insert(ref);
  } else {
    placing.pool.members.erase(ref);
  }
  touch(ref.pod);
}

void PlacingTurn::count(const ContainerRef& ref, const PlacedContainer& container) const {
  placing.occupancy.set(ref, alone_on(container), owner_of(placing, ref));
}

void PlacingTurn::touch_all() const {
  for (const auto& [uid, pod] : placing.pods) touch(uid);
}

PlacedPod* find_pod(PlacingState& placing, const std::string& uid) {
  const auto found = placing.pods.find(uid);
  return found == placing.pods.end() ? nullptr : &found->second;
}

const PlacedPod* find_pod(const PlacingState& placing, const std::string& uid) {
  const auto found = placing.pods.find(uid);
  return found == placing.pods.end() ? nullptr : &found->second;
}

PlacedContainer* find_container(PlacingState& placing, const ContainerRef& ref) {
  PlacedPod* pod = find_pod(placing, ref.pod);
  if (pod == nullptr) return nullptr;
  const auto found = pod->containers.find(ref.container);
  return found == pod->containers.end() ? nullptr : &found->second;
}

bool is_being_placed(const PlacingState& placing, const std::string& uid) {
  if (placing.resizing.contains(uid)) return true;
  const PlacedPod* pod = find_pod(placing, uid);
  return pod != nullptr && pod->standing == Standing::kBooked;
}

bool is_quiet(const PlacedPod& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const auto& entry) { return entry.second.presence == Presence::kAbsent; });
}

bool has_all_cpus(const PlacingState& placing, const PlacedPod& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(), [&](const auto& entry) {
    const auto& [name, state] = entry;
    return state.exclusive == 0 || state.is_done ||
           placing.bookings.cpus.find({pod.pod.uid, name}) != nullptr;
  });
}

CpuSet confirmed_cpus(const PlacingState& placing, const PlacedContainer& container) {
  if (!container.is_in_pool) return container.confirmed;
  return placing.pool.confirmed ? *placing.pool.confirmed : placing.pool.possible;
}

CpuSet sole_cpus(const PlacedContainer& container) {
  if (container.is_in_pool || container.shares_confirmed) return {};
  return container.confirmed - container.unsure;
}

bool is_nobody_else_on(const PlacingState& placing, const ContainerRef& ref, const CpuSet& cpus) {
  const SharedPool& pool = placing.pool;
  const std::size_t others = pool.members.size() - (pool.members.contains(ref) ? 1U : 0U);
  if (others > 0 && pool_may_run_on(pool).intersects(cpus)) return false;
  return !placing.occupancy.is_elsewhere_taken(ref, cpus);
}

const ContainerResize* shrink_of(const PlacedPod& pod, const std::string& container) {
  if (!pod.resize.under_way) return nullptr;
  for (const ContainerResize& resize : pod.resize.under_way->containers) {
    if (resize.container == container && !resize.grows()) return &resize;
  }
  return nullptr;
}

bool is_due(const PlacedContainer& state, const ContainerResize& shrink) {
  return state.shrink && state.shrink->is_due && state.shrink->after == shrink.after;
}

Assigned shown_cpus(const ManagerRules& rules, const PlacingState& placing, const ContainerRef& ref,
                    const PlacedPod& pod) {
  const auto own = own_cpus(placing, ref);
  if (!own) return {};
  CpuSet cpus = *own;
  const PlacedContainer& state = pod.containers.at(ref.container);
  if (const ContainerResize* shrink = shrink_of(pod, ref.container)) cpus &= shrink->after;
  // Also of what it keeps: a growth before this shrink may not have brought that yet. After a
  // crash the checkpoint may have a growth of which the store knows the wish alone.
  // A container of the pool that has been given CPUs of its own has still to go there.
  const bool is_resized = state.actual || own->size() > state.exclusive || state.is_in_pool;
  if (state.presence != Presence::kAbsent && is_resized) {
    cpus &= surely_on(placing, state) | placing.offline;
  }
  return {.cpus = cpus, .mems = rules.admission.topology.nodes_of(cpus)};
}

bool is_told(const ManagerRules& rules, const PlacingState& placing, const ContainerRef& ref,
             const PlacedPod& pod) {
  const Assigned shown = shown_cpus(rules, placing, ref, pod);
  const auto says_so = [&](const std::optional<AssignedByContainer>& files) {
    if (!files) return false;
    const auto found = files->find(ref.container);
    return found != files->end() && found->second == shown;
  };
  // What is on its way to the files will be there any moment.
  return says_so(pod.files.told) && (!pod.files.telling || says_so(pod.files.telling));
}

std::optional<CpuSet> pool_target(const PlacingState& placing) {
  const CpuSet shared = placing.durable.shared - placing.offline;
  if (shared.empty()) return std::nullopt;
  const SharedPool& pool = placing.pool;
  const CpuSet& of_holders = placing.occupancy.of_holders();
  CpuSet cpus = shared - of_holders;
  if (pool.confirmed) cpus |= shared & *pool.confirmed;
  if (!cpus.empty()) return cpus;
  // Holders are on all of them: until one has left, the pool stays where nobody else is.
  cpus = pool_may_run_on(pool) - of_holders - placing.offline;
  return cpus.empty() ? shared : cpus;
}

std::optional<CpuSet> wanted_cpus(const ManagerRules& rules, const PlacingState& placing,
                                  const ContainerRef& ref) {
  if (!rules.pins_cpus) return std::nullopt;
  const auto own = own_cpus(placing, ref);
  if (!own) return pool_target(placing);
  CpuSet cpus = *own;
  if (const PlacedPod* pod = find_pod(placing, ref.pod)) {
    if (const ContainerResize* shrink = shrink_of(*pod, ref.container)) {
      // What it has left already it is not given back.
      CpuSet kept = shrink->after;
      const PlacedContainer& state = pod->containers.at(ref.container);
      if (!is_due(state, *shrink)) kept |= confirmed_cpus(placing, state);
      cpus &= kept;
    }
  }
  cpus -= placing.offline;
  if (cpus.empty()) return std::nullopt;
  return cpus;
}

std::optional<NodeSet> wanted_mems(const ManagerRules& rules, const PlacingState& placing,
                                   const ContainerRef& ref) {
  if (!rules.memory_pinning || !rules.pins_cpus) return std::nullopt;
  const auto own = own_cpus(placing, ref);
  if (!own) return std::nullopt;
  return rules.admission.topology.nodes_of(*own);
}

Limits limits_of(const PlacingState& placing, const ContainerRef& ref, const Container& container) {
  Limits limits{.cpu_shares = cpu_shares(container),
                .memory_limit = std::max<std::int64_t>(0, container.limit(kMemory).value())};
  if (placing.durable.find(ref) == nullptr) {
    // More than any machine has is no limit, and nothing that a kernel could be told.
    const std::int64_t limit = std::max<std::int64_t>(0, container.limit(kCpu).milli_value());
    limits.quota = limit > std::int64_t{kMaxCpus} * 1000 ? 0 : limit;
  } else if (const PlacedPod* pod = find_pod(placing, ref.pod)) {
    limits.partition = partition_of(pod->pod.annotations);
  }
  return limits;
}

}  // namespace corehold
