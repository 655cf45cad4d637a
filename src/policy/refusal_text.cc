// SPDX-License-Identifier: Apache-2.0
#include "policy/refusal_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hints/family.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr std::size_t kMostHolders = 8;

// "A, B and 3 more".
std::string first_of(std::vector<std::string> holders) {
  const std::size_t all = holders.size();
  holders.resize(std::min(all, kMostHolders));
  std::string text = fmt::format("{}", fmt::join(holders, ", "));
  if (all > kMostHolders) text += fmt::format(" and {} more", all - kMostHolders);
  return text;
}

// "; held by A, B and 3 more"; nothing when nobody holds any.
std::string held_by(std::vector<std::string> holders) {
  return holders.empty() ? "" : fmt::format("; held by {}", first_of(std::move(holders)));
}

std::string name_of(const AdmissionRules& rules, const std::string& uid) {
  return rules.pod_name ? rules.pod_name(uid) : uid;
}

std::string amounts(const NodeMemory& memory) {
  std::vector<std::string> parts;
  for (const auto& [resource, bytes] : memory)
    parts.push_back(fmt::format("{} {}", resource, bytes));
  return list_or_none(fmt::format("{}", fmt::join(parts, " + ")));
}

// The size of the smallest set in the family; 0 when it is empty.
int fewest_nodes(const HintFamily& family) {
  int fewest = 0;
  for (const Hint& hint : family.listed) {
    if (hint.nodes && (fewest == 0 || hint.nodes->size() < fewest)) fewest = hint.nodes->size();
  }
  if (!family.threshold) return fewest;
  const int size = narrowest(*family.threshold).value_or(0);
  return fewest == 0 || (size != 0 && size < fewest) ? size : fewest;
}

bool has_preferred(const HintFamily& family, int fewest) {
  return fewest == family.preference.size ||
         std::any_of(family.listed.begin(), family.listed.end(),
                     [](const Hint& hint) { return hint.preferred; });
}

// The nodes that are hints on their own.
NodeSet single_nodes(const HintFamily& family, const NodeSet& machine) {
  NodeSet nodes;
  for (const NodeId id : machine) {
    if (preference_for(family, {id})) nodes.insert(id);
  }
  return nodes;
}

std::string need_of(const HintFamily& family, const NodeSet& machine, std::string_view required) {
  const int fewest = fewest_nodes(family);
  if (fewest == 0) return "fits nowhere";
  if (fewest == 1) {
    return fmt::format("fits on one NUMA node: {}", single_nodes(family, machine).str());
  }
  std::string text = fmt::format("needs {} NUMA nodes", fewest);
  if (!has_preferred(family, fewest)) {
    text += " now";
    if (family.threshold && !family.threshold->required.empty()) {
      text += fmt::format(", with {} {}", family.threshold->required.str(), required);
    }
    text += fmt::format(", {} on an idle machine", family.preference.size);
  }
  return text;
}

std::int64_t asked(const Pod& pod, const Container& container, const std::string& resource,
                   const PodGates& gates) {
  if (resource == kCpu) return exclusive_cpus(pod, container, gates);
  return std::max<std::int64_t>(0, container.limit(resource).value());
}

}  // namespace

std::string list_or_none(const std::string& list) { return list.empty() ? "none" : list; }

std::string whose(const Pod& pod, const Container* container) {
  if (container == nullptr) return fmt::format("pod {}: ", display_name(pod));
  return fmt::format("container {} of pod {}: ", container->name, display_name(pod));
}

std::string cpu_detail(const AdmissionRules& rules, const Bookings& bookings,
                       const CpuSet& candidates) {
  std::vector<std::string> holders;
  for (const auto& [pod, containers] : bookings.cpus.pods) {
    for (const auto& [name, holding] : containers) {
      holders.push_back(fmt::format("{} {} {}", name_of(rules, pod), name, holding.assigned.str()));
    }
  }
  return fmt::format("free CPUs: {}{}", list_or_none(candidates.str()),
                     held_by(std::move(holders)));
}

std::string memory_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const NodeMemory& request) {
  std::vector<std::string> free;
  for (const auto& [id, node] : bookings.memory.nodes()) {
    free.push_back(fmt::format("{} on NUMA node {}", amounts(node.free), id.value));
  }
  std::vector<std::string> holders;
  for (const auto& [pod, containers] : bookings.memory.pods()) {
    for (const auto& [name, holding] : containers) {
      holders.push_back(fmt::format("{} {} {} on {}", name_of(rules, pod), name,
                                    amounts(holding.bytes), holding.nodes.str()));
    }
  }
  return fmt::format("asked: {}; free: {}{}", amounts(request), fmt::join(free, ", "),
                     held_by(std::move(holders)));
}

std::string device_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const Container& container) {
  std::vector<std::string> free;
  std::vector<std::string> holders;
  for (const auto& [resource, amount] : container.resources.limits) {
    if (amount.sign() <= 0 || !bookings.devices.inventory().contains(resource)) continue;
    const auto left = bookings.devices.available(resource);
    free.push_back(
        fmt::format("{} {}", resource, list_or_none(fmt::format("{}", fmt::join(left, " ")))));
    for (const auto& [pod, containers] : bookings.devices.pods()) {
      for (const auto& [name, holding] : containers) {
        const auto ids = holding.find(resource);
        if (ids == holding.end()) continue;
        holders.push_back(
            fmt::format("{} {} {}", name_of(rules, pod), name, fmt::join(ids->second, " ")));
      }
    }
  }
  if (free.empty()) return "";
  return fmt::format("free: {}{}", fmt::join(free, ", "), held_by(std::move(holders)));
}

std::string cpu_holders(const AdmissionRules& rules, const State& state,
                        const std::vector<std::string>& pods) {
  std::vector<std::string> holders;
  for (const std::string& pod : pods) {
    const auto containers = state.pods.find(pod);
    if (containers == state.pods.end()) continue;
    for (const auto& [name, holding] : containers->second) {
      holders.push_back(fmt::format("{} {} {}", name_of(rules, pod), name, holding.assigned.str()));
    }
  }
  return first_of(std::move(holders));
}

std::string alignment_detail(const AdmissionRules& rules, const Pod& pod,
                             const Container* container, const Alignment& alignment,
                             std::string_view required) {
  NodeSet machine;
  for (const auto& node : rules.topology.nodes()) machine.insert(node.id);
  std::string text = fmt::format("policy {}", name_of(rules.topology_options.policy));
  for (const ResourceHints& hints : alignment.hints) {
    if (!hints.family) continue;
    const auto amount = [&](const Container& each) {
      return asked(pod, each, hints.resource, rules.pod_gates);
    };
    text += fmt::format("; {}={} {}", hints.resource,
                        container == nullptr ? most_at_once(pod, amount) : amount(*container),
                        need_of(*hints.family, machine, required));
  }
  return text;
}

std::string topology_detail(const AdmissionRules& rules, const Bookings& bookings, const Pod& pod,
                            const Container* container, const Alignment& alignment) {
  std::string text = alignment_detail(rules, pod, container, alignment,
                                      "where init containers of the pod left some");
  const bool cpus = std::any_of(
      alignment.hints.begin(), alignment.hints.end(),
      [](const ResourceHints& hints) { return hints.family && hints.resource == kCpu; });
  if (!cpus) return text;
  const Container& any = container == nullptr ? pod.containers.front() : *container;
  Request request = request_of(pod, any, {}, rules.pod_gates);
  request.cpus = 1;
  return fmt::format("{}; {}", text,
                     cpu_detail(rules, bookings, rules.policy.candidates(bookings.cpus, request)));
}

}  // namespace corehold
