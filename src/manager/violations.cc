// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "manager/placing/resizing.h"
#include "manager/running/facts.h"
#include "manager/step.h"

namespace corehold {
namespace {

struct Placed {
  ContainerRef ref;
  CpuSet cpus;  // where it was put
  bool strayed = false;
  bool shares = false;  // others may be where it is, whatever is booked for it
};

// Others may be there too: it has not been put on its own CPUs yet.
bool is_where_it_was_found(const PlacingState& placing, const ContainerRef& ref,
                           const PlacedContainer& container) {
  if (!container.shares_confirmed) return false;
  const Holding* holding = placing.durable.find(ref);
  return holding == nullptr || !container.confirmed.is_subset_of(holding->assigned);
}

std::vector<Placed> everybody(const PlacingState& placing) {
  std::vector<Placed> all;
  for (const auto& [uid, pod] : placing.pods) {
    for (const auto& [name, container] : pod.containers) {
      if (container.presence == Presence::kAbsent) continue;
      PlacedContainer unstrayed = container;
      unstrayed.strayed.reset();
      all.push_back({.ref = {uid, name},
                     .cpus = may_run_on(placing, unstrayed),
                     .strayed = container.strayed.has_value() ||
                                (container.is_in_pool && placing.pool.strayed),
                     .shares = container.is_in_pool ||
                               is_where_it_was_found(placing, {uid, name}, container)});
    }
  }
  return all;
}

std::set<ContainerRef> init_containers(const PlacingState& placing) {
  std::set<ContainerRef> inits;
  for (const auto& [uid, pod] : placing.pods) {
    for (const Container& container : pod.pod.init_containers) {
      if (container.kind == Container::Kind::kInit) inits.insert({uid, container.name});
    }
  }
  // One that is not known may be an init container.
  for (const auto& [uid, containers] : placing.durable.pods) {
    const PlacedPod* pod = find_pod(placing, uid);
    for (const auto& [name, holding] : containers) {
      if (pod == nullptr || !pod->containers.contains(name)) inits.insert({uid, name});
    }
  }
  return inits;
}

// What a container is to keep is in the books (invariants.h has its bounds) exactly as long as
// its files, a timer or the runtime have still to come; so is its delay.
void check_pending(const PlacingState& node, const ContainerRef& ref, const PlacedPod& pod,
                   std::vector<std::string>& found) {
  const PlacedContainer& state = pod.containers.at(ref.container);
  const ContainerResize* shrink = shrink_of(pod, ref.container);
  const Holding* holding = node.bookings.cpus.find(ref);
  const auto kept = shrink == nullptr ? std::optional<CpuSet>() : shrink->after;
  const auto pending = holding == nullptr ? std::optional<CpuSet>() : holding->pending;
  const auto text = [](const std::optional<CpuSet>& cpus) { return cpus ? cpus->str() : "none"; };
  // Bookings are ahead of a resize that begins once they are saved.
  if (pending != kept && !node.resizing.contains(ref.pod)) {
    found.push_back(fmt::format("container {} of pod {} is to keep CPUs {}, by the books {}",
                                ref.container, ref.pod, text(kept), text(pending)));
  }
  if (state.shrink && kept != state.shrink->after) {
    found.push_back(fmt::format("container {} of pod {} has a delay for CPUs {} and is to keep {}",
                                ref.container, ref.pod, state.shrink->after.str(), text(kept)));
  }
}

// Files list no CPU that the container has still to get, and none that it is about to lose.
void check_told(const PlacingState& node, const ContainerRef& ref, const PlacedPod& pod,
                std::vector<std::string>& found) {
  const PlacedContainer& state = pod.containers.at(ref.container);
  const Holding* holding = node.durable.find(ref);
  const FilesState& files = pod.files;
  if (!files.told || !files.writing.may_ask() || is_stopping(pod) || holding == nullptr) return;
  const auto file = files.told->find(ref.container);
  if (file == files.told->end()) return;
  const CpuSet& listed = file->second.cpus;
  const std::string list = fmt::format("the files of container {} of pod {} list CPUs {}",
                                       ref.container, ref.pod, listed.str());
  if (!listed.is_subset_of(holding->assigned)) {
    found.push_back(fmt::format("{}, of which it holds {}", list, holding->assigned.str()));
  }
  const ContainerResize* shrink = shrink_of(pod, ref.container);
  if (shrink != nullptr && !listed.is_subset_of(shrink->after)) {
    found.push_back(fmt::format("{}, of which it is to keep {}", list, shrink->after.str()));
  }
  // Outside a resize, one that comes online again may take its time.
  const bool is_resized = state.actual.has_value();
  if (state.presence != Presence::kRunning || state.strayed || !is_resized) return;
  const CpuSet usable = may_run_on(node, state) | node.offline;
  if (!listed.is_subset_of(usable)) {
    found.push_back(fmt::format("{}, of which it may use {}", list, usable.str()));
  }
}

// The states of a container in both halves fit each other.
void check_stage(const ContainerRef& ref, const RunContainer& run, const PlacedContainer& placed,
                 std::vector<std::string>& found) {
  const Presence right = run.stage == Stage::kStarting ? Presence::kStarting
                         : is_running(run.stage)       ? Presence::kRunning
                                                       : Presence::kAbsent;
  if (placed.presence != right) {
    found.push_back(fmt::format("container {} of pod {} is in stage {} and its presence is {}",
                                ref.container, ref.pod, static_cast<int>(run.stage),
                                static_cast<int>(placed.presence)));
  }
  const bool is_asked = placed.setting.is_asked();
  const bool waits_for_answer = placed.asked && placed.presence == Presence::kRunning;
  if (is_asked != waits_for_answer) {
    found.push_back(
        fmt::format("container {} of pod {} waits for an answer about its CPUs that nobody was "
                    "asked for, or the other way round",
                    ref.container, ref.pod));
  }
  if (placed.presence == Presence::kAbsent &&
      (placed.asked || placed.strayed || placed.is_in_pool || !placed.confirmed.empty())) {
    found.push_back(
        fmt::format("container {} of pod {} does not run and has CPUs", ref.container, ref.pod));
  }
}

// No container is put on CPUs of its own before the rest of the machine was asked off them, and the
// fence does not open where a container is.
void check_fence(const PlacingState& placing, const ContainerRef& ref, const PlacedContainer& state,
                 std::vector<std::string>& found) {
  const FenceState& fence = placing.fence;
  const Holding* holding = placing.durable.find(ref);
  if (holding == nullptr || state.is_in_pool || state.strayed) return;
  const CpuSet there = confirmed_cpus(placing, state) & holding->assigned;
  if (state.asked) {
    const CpuSet added = (*state.asked & holding->assigned) - there;
    const CpuSet open = added - fence.confirmed.value_or(CpuSet{});
    if (!open.empty()) {
      found.push_back(fmt::format("container {} of pod {} is put on CPUs {} before the fence",
                                  ref.container, ref.pod, open.str()));
    }
  }
  if (!fence.confirmed || !fence.asked) return;
  const CpuSet opened = (there & *fence.confirmed) - *fence.asked;
  if (opened.empty()) return;
  found.push_back(fmt::format("the fence opens on CPUs {} of container {} of pod {}", opened.str(),
                              ref.container, ref.pod));
}

// The members of the pool and the pods that wait are kept beside the pods, so that not all pods
// have to be looked at: they must be what looking at all pods gives. So must the occupancy.
void check_indexes(const PlacingState& placing, std::vector<std::string>& found) {
  std::set<ContainerRef> members;
  Occupancy occupancy;
  for (const auto& [uid, pod] : placing.pods) {
    for (const auto& [name, container] : pod.containers) {
      const ContainerRef ref{uid, name};
      occupancy.set(ref, alone_on(container), owner_of(placing, ref));
      const bool is_there = container.presence != Presence::kAbsent;
      if (is_there && container.is_in_pool) members.insert(ref);
    }
    const bool waits = !is_stopping(pod) &&
                       (pod.standing == Standing::kWaiting || has_undecided_resize(placing, pod));
    if (waits != placing.waiting.contains(uid) && !placing.to_place.contains(uid)) {
      found.push_back(fmt::format("pod {} is {}among those that wait", uid, waits ? "not " : ""));
    }
  }
  if (members != placing.pool.members) found.push_back("the shared pool has other members");
  if (!occupancy.is_same_as(placing.occupancy)) {
    found.push_back("the occupancy of the CPUs is not what the containers say");
  }
}

}  // namespace

std::vector<std::string> violations(const ManagerRules& rules, const NodeState& halves) {
  const PlacingState& node = halves.placing;
  std::vector<std::string> found;
  for (const auto& [uid, pod] : halves.running.pods) {
    const PlacedPod* placed = find_pod(node, uid);
    if (placed == nullptr) {
      found.push_back(fmt::format("pod {} is run and not placed", uid));
      continue;
    }
    for (const auto& [name, run] : pod.containers) {
      check_stage({uid, name}, run, placed->containers.at(name), found);
    }
  }
  if (!rules.pins_cpus) return found;
  check_indexes(node, found);
  for (const auto& [uid, pod] : node.pods) {
    for (const auto& [name, container] : pod.containers) {
      check_pending(node, {uid, name}, pod, found);
      check_told(node, {uid, name}, pod, found);
      if (rules.fences) check_fence(node, {uid, name}, container, found);
    }
  }
  Rules with_inits = rules.invariants;
  with_inits.init_containers = init_containers(node);
  for (const State* state : {&node.bookings.cpus, &node.durable}) {
    for (const Violation& violation : violations(*state, with_inits)) {
      found.push_back(violation.message);
    }
    // Every pod that a holder belongs to is known.
    for (const auto& [uid, containers] : state->pods) {
      if (node.pods.contains(uid)) continue;
      if (state == &node.durable && node.saved_revision == 0) continue;
      found.push_back(fmt::format("pod {}, which does not exist, holds CPUs", uid));
    }
  }
  const std::vector<Placed> all = everybody(node);
  for (const Placed& holder : all) {
    const Holding* holding = node.bookings.cpus.find(holder.ref);
    // A container that was found running without CPUs of its own shares until it gets them.
    if (holding == nullptr || node.durable.find(holder.ref) == nullptr || holder.shares) continue;
    for (const Placed& other : all) {
      // Where somebody else has put one of them is not of our doing.
      if (other.ref == holder.ref || other.strayed || holder.strayed) continue;
      // One that grows does not run yet where others have still to leave.
      const CpuSet both = other.cpus & holding->assigned & holder.cpus;
      if (both.empty()) continue;
      found.push_back(fmt::format(
          "container {} of pod {} may run on CPUs {} of container {} of pod {}",
          other.ref.container, other.ref.pod, both.str(), holder.ref.container, holder.ref.pod));
    }
  }
  return found;
}

}  // namespace corehold
