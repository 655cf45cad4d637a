// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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

}  // namespace

std::vector<std::string> violations(const ManagerRules& rules, const NodeState& node) {
  std::vector<std::string> found;
  if (!rules.pins_cpus) return found;
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
