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

// "A, B and 3 more": of many holders only the first are written out.
class HolderList {
 public:
  bool is_full() const { return listed_.size() == kMostHolders; }
  // `text` gives the holder's text, if it is to be listed.
  template <typename Text>
  void add(const Text& text) {
    if (!is_full()) listed_.push_back(text());
    ++count_;
  }
  // Holders that are not listed in any case.
  void add_unlisted(std::size_t count) { count_ += count; }

  std::string str() const {
    std::string text = fmt::format("{}", fmt::join(listed_, ", "));
    if (count_ > listed_.size()) text += fmt::format(" and {} more", count_ - listed_.size());
    return text;
  }
  // "; held by A, B and 3 more"; nothing when nobody holds any.
  std::string clause() const { return count_ == 0 ? "" : fmt::format("; held by {}", str()); }

 private:
  std::vector<std::string> listed_{};
  std::size_t count_ = 0;
};

std::string name_of(const AdmissionRules& rules, const std::string& uid) {
  return rules.pod_name ? rules.pod_name(uid) : uid;
}

void add_cpu_holders(const AdmissionRules& rules, const CpuHoldings::value_type& pod,
                     HolderList& holders) {
  for (const auto& held : pod.second) {
    holders.add([&] {
      return fmt::format("{} {} {}", name_of(rules, pod.first), held.first,
                         held.second.assigned.str());
    });
  }
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
  HolderList holders;
  const CpuHoldings& pods = bookings.cpus.pods;
  std::size_t unlisted = pods.containers();
  for (auto pod = pods.begin(); pod != pods.end() && !holders.is_full(); ++pod) {
    add_cpu_holders(rules, *pod, holders);
    unlisted -= pod->second.size();
  }
  holders.add_unlisted(unlisted);
  return fmt::format("free CPUs: {}{}", list_or_none(candidates.str()), holders.clause());
}

std::string memory_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const NodeMemory& request) {
  std::vector<std::string> free;
  for (const auto& [id, node] : bookings.memory.nodes()) {
    free.push_back(fmt::format("{} on NUMA node {}", amounts(node.free), id.value));
  }
  HolderList holders;
  for (const auto& entry : bookings.memory.pods()) {
    for (const auto& held : entry.second) {
      holders.add([&] {
        return fmt::format("{} {} {} on {}", name_of(rules, entry.first), held.first,
                           amounts(held.second.bytes), held.second.nodes.str());
      });
    }
  }
  return fmt::format("asked: {}; free: {}{}", amounts(request), fmt::join(free, ", "),
                     holders.clause());
}

std::string device_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const Container& container) {
  std::vector<std::string> free;
  HolderList holders;
  for (const auto& [resource, amount] : container.resources.limits) {
    if (amount.sign() <= 0 || !bookings.devices.inventory().contains(resource)) continue;
    const auto left = bookings.devices.available(resource);
    free.push_back(
        fmt::format("{} {}", resource, list_or_none(fmt::format("{}", fmt::join(left, " ")))));
    for (const auto& entry : bookings.devices.pods()) {
      for (const auto& held : entry.second) {
        const auto ids = held.second.find(resource);
        if (ids == held.second.end()) continue;
        holders.add([&] {
          return fmt::format("{} {} {}", name_of(rules, entry.first), held.first,
                             fmt::join(ids->second, " "));
        });
      }
    }
  }
  if (free.empty()) return "";
  return fmt::format("free: {}{}", fmt::join(free, ", "), holders.clause());
}

std::string cpu_holders(const AdmissionRules& rules, const State& state,
                        const std::vector<std::string>& pods) {
  HolderList holders;
  for (const std::string& uid : pods) {
    const auto pod = state.pods.find(uid);
    if (pod != state.pods.end()) add_cpu_holders(rules, *pod, holders);
  }
  return holders.str();
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
