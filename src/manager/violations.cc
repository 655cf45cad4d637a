// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "manager/facts.h"
#include "manager/step.h"

namespace corehold {
namespace {

struct Placed {
  ContainerRef ref;
  CpuSet cpus;  // where it was put
  bool strayed = false;
};

std::vector<Placed> everybody(const NodeState& node) {
  std::vector<Placed> all;
  for (const auto& [uid, pod] : node.pods) {
    for (const auto& [name, container] : pod.containers) {
      if (container.stage == Stage::kIdle) continue;
      Placed placed{.ref = {uid, name},
                    .cpus = container.confirmed,
                    .strayed = container.strayed.has_value()};
      if (container.asked) placed.cpus |= *container.asked;
      all.push_back(std::move(placed));
    }
  }
  return all;
}

std::set<ContainerRef> init_containers(const NodeState& node) {
  std::set<ContainerRef> inits;
  for (const auto& [uid, pod] : node.pods) {
    for (const Container& container : pod.record.pod.init_containers) {
      if (container.kind == Container::Kind::kInit) inits.insert({uid, container.name});
    }
  }
  // Of a pod that is not known any of them may be one.
  for (const auto& [uid, containers] : node.durable.pods) {
    if (node.pods.contains(uid)) continue;
    for (const auto& [name, holding] : containers) inits.insert({uid, name});
  }
  return inits;
}

// What a container is to keep is in the books (invariants.h has its bounds) exactly as long as
// its files, a timer or the runtime have still to come; so is its delay.
void check_pending(const NodeState& node, const ContainerRef& ref, const PodState& pod,
                   std::vector<std::string>& found) {
  const ContainerState& state = pod.containers.at(ref.container);
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
void check_told(const NodeState& node, const ContainerRef& ref, const PodState& pod,
                std::vector<std::string>& found) {
  const ContainerState& state = pod.containers.at(ref.container);
  const Holding* holding = node.durable.find(ref);
  if (!pod.told || pod.telling || pod.tell_waits || is_stopping(pod) || holding == nullptr) return;
  const auto file = pod.told->find(ref.container);
  if (file == pod.told->end()) return;
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
  const bool is_resized = pod.record.containers.at(ref.container).actual.has_value();
  if (state.stage != Stage::kRunning || state.strayed || !is_resized) return;
  const CpuSet usable = may_run_on(state) | node.offline;
  if (!listed.is_subset_of(usable)) {
    found.push_back(fmt::format("{}, of which it may use {}", list, usable.str()));
  }
}

}  // namespace

std::vector<std::string> violations(const ManagerRules& rules, const NodeState& node) {
  std::vector<std::string> found;
  if (!rules.pins_cpus) return found;
  for (const auto& [uid, pod] : node.pods) {
    for (const auto& [name, container] : pod.containers) {
      check_pending(node, {uid, name}, pod, found);
      check_told(node, {uid, name}, pod, found);
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
    if (holding == nullptr) continue;
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
