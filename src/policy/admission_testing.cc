// SPDX-License-Identifier: Apache-2.0
#include "policy/admission_testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corehold {

Result<AdmittingNode> AdmittingNode::make(Topology topology, NodeSetup setup) {
  setup.config.topology_policy = setup.topology.policy;
  AdmittingNode node(std::make_unique<Topology>(std::move(topology)), std::move(setup));
  node.policy_ = TRY(StaticPolicy::make(*node.topology_, node.setup_.config));
  node.bookings_.cpus = TRY(node.policy_->start({}));
  node.bookings_.memory = TRY(MemoryBook::make(node.setup_.memory, {}));
  node.bookings_.devices = TRY(DeviceBook::make(node.setup_.devices));
  return node;
}

AdmissionRules AdmittingNode::rules() const {
  return {.topology = *topology_, .policy = *policy_, .topology_options = setup_.topology};
}

Decision AdmittingNode::admit(const Pod& pod) {
  const Bookings before = bookings_;
  Decision decision = corehold::admit(rules(), bookings_, pod);
  if (decision.refusal) {
    CHECK(bookings_ == before);
  } else {
    pods_.insert_or_assign(pod.uid, pod);
  }
  return decision;
}

void AdmittingNode::release(const std::string& pod_uid) {
  corehold::release(rules(), bookings_, pod_uid);
  pods_.erase(pod_uid);
}

ResizeDecision AdmittingNode::begin_resize(const Pod& wanted) {
  ResizeDecision decision = decide_resize(rules(), gates, bookings_, pods_.at(wanted.uid), wanted);
  CHECK((decision.verdict == ResizeVerdict::kAccepted) == !decision.refusal);
  if (decision.refusal) {
    CHECK(decision.containers.empty() && !decision.refusal->message.empty());
    return decision;
  }
  apply(bookings_.cpus, corehold::begin_resize(bookings_.cpus, wanted.uid, decision));
  pods_.insert_or_assign(wanted.uid, wanted);
  return decision;
}

void AdmittingNode::finish_shrink(const std::string& pod_uid, const std::string& container,
                                  const ResizeDecision& decision) {
  apply(bookings_.cpus, corehold::finish_shrink(bookings_.cpus, pod_uid, container, decision));
}

ResizeDecision AdmittingNode::resize(const Pod& wanted) {
  ResizeDecision decision = begin_resize(wanted);
  for (const ContainerResize& container : decision.containers) {
    if (!container.grows()) finish_shrink(wanted.uid, container.container, decision);
  }
  for (const ContainerResize& container : decision.containers) {
    CHECK(cpus(wanted.uid, container.container) == container.after.str());
  }
  return decision;
}

std::string AdmittingNode::cpus(const std::string& pod_uid, const std::string& container) const {
  const Holding* holding = bookings_.cpus.find({pod_uid, container});
  return holding == nullptr ? "none" : holding->assigned.str();
}

std::string AdmittingNode::problem() const {
  for (const std::string& found : {cpu_problem(), memory_problem(), device_problem()}) {
    if (!found.empty()) return found;
  }
  return "";
}

std::string AdmittingNode::cpu_problem() const {
  Rules rules = policy_->rules();
  rules.init_containers.emplace();
  for (const auto& [uid, pod] : pods_) {
    for (const Container& container : pod.init_containers) {
      if (container.kind == Container::Kind::kInit) {
        rules.init_containers->insert({uid, container.name});
      }
    }
  }
  const auto found = violations(bookings_.cpus, rules);
  return found.empty() ? "" : found.front().message;
}

std::string AdmittingNode::memory_problem() const {
  NodeMemory balance;  // allocatable - free - booked, of all nodes
  std::map<NodeId, int> assignments;
  for (const auto& [uid, containers] : bookings_.memory.pods()) {
    for (const auto& [name, holding] : containers) {
      for (const auto& [resource, bytes] : holding.bytes) {
        if (bytes < 0) return fmt::format("{} {} holds {} of {}", uid, name, bytes, resource);
        balance[resource] -= bytes;
        for (const NodeId id : holding.nodes) ++assignments[id];
      }
      for (const NodeId id : holding.nodes) {
        if (bookings_.memory.nodes().at(id).group == holding.nodes) continue;
        return fmt::format("{} {} has memory on {}, which node {} does not serve as a group", uid,
                           name, holding.nodes.str(), id.value);
      }
    }
  }
  for (const auto& [id, node] : bookings_.memory.nodes()) {
    if (node.assignments != assignments[id]) {
      return fmt::format("node {} counts {} assignments, there are {}", id.value, node.assignments,
                         assignments[id]);
    }
    for (const auto& [resource, allocatable] : node.allocatable) {
      const std::int64_t free = node.free.at(resource);
      if (free < 0 || free > allocatable) {
        return fmt::format("node {} has {} of {} bytes of {} free", id.value, free, allocatable,
                           resource);
      }
      balance[resource] += allocatable - free;
    }
  }
  for (const auto& [resource, bytes] : balance) {
    if (bytes != 0) return fmt::format("{} bytes of {} are nobody's", bytes, resource);
  }
  return "";
}

std::string AdmittingNode::device_problem() const {
  // Who holds a device: the pod, and the container if it is not an init container.
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> holders;
  for (const auto& [uid, containers] : bookings_.devices.pods()) {
    for (const auto& [name, holding] : containers) {
      const bool init = pods_.at(uid).find(name)->kind == Container::Kind::kInit;
      for (const auto& [resource, ids] : holding) {
        for (const std::string& id : ids) {
          auto& [pod, container] = holders[{resource, id}];
          if ((!pod.empty() && pod != uid) || (!init && !container.empty())) {
            return fmt::format("{} {} is held twice, also by {} {}", resource, id, uid, name);
          }
          pod = uid;
          if (!init) container = name;
        }
      }
    }
  }
  return "";
}

std::string text_of(const Decision& decision) {
  if (decision.refusal) {
    return fmt::format("{}: {}", decision.refusal->reason, decision.refusal->message);
  }
  std::vector<std::string> parts;
  for (const ContainerDecision& container : decision.containers) {
    const std::string cpus = container.granted.str();
    std::string text = fmt::format("{}={}", container.container, cpus.empty() ? "shared" : cpus);
    if (!container.memory.empty()) text += fmt::format(" memory@{}", container.memory_nodes.str());
    for (const auto& [resource, ids] : container.devices) {
      text += fmt::format(" {}={}", resource, fmt::join(ids, ","));
    }
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string text_of(const ResizeDecision& decision) {
  if (decision.refusal) {
    return fmt::format("{}: {}", name_of(decision.verdict), decision.refusal->message);
  }
  if (decision.containers.empty()) return "unchanged";
  std::vector<std::string> parts;
  for (const ContainerResize& container : decision.containers) {
    std::string text = fmt::format("{}={}", container.container, container.after.str());
    for (const auto& [name, cpus] : container.from) text += fmt::format("<{}:{}", name, cpus.str());
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace corehold
