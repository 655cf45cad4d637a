// SPDX-License-Identifier: Apache-2.0
#include "hints/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "hints/family.h"
#include "hints/search.h"

namespace corehold {
namespace {

// The most of one resource on one node, so that sums over all nodes fit 64 bits.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;
constexpr int kEffortForMemory = 20'000;  // for one search

std::int64_t amount_in(const NodeMemory& memory, const std::string& resource) {
  const auto found = memory.find(resource);
  return found == memory.end() ? 0 : found->second;
}

bool asks_memory(const Pod& pod, const PodGates& gates) {
  return qos_class(pod, gates) == QosClass::kGuaranteed &&
         !(gates.pod_level_resources && has_pod_level_resources(pod));
}

// Fewer nodes first, then the lower number as a mask: the highest node decides.
bool is_narrower(const NodeSet& a, const NodeSet& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  const NodeSet only_a = a - b;
  const NodeSet only_b = b - a;
  return !only_b.empty() && (only_a.empty() || only_a.last() < only_b.last());
}

// The narrowest set of the threshold, and the lowest of those; no value: there is none.
std::optional<NodeSet> narrowest_set(const Threshold& threshold) {
  const auto size = narrowest(threshold);
  if (!size) return std::nullopt;
  Effort effort{.left = kEffortForMemory};
  const auto mask = find_best(
      {.parties = {Party(threshold)}, .pool = threshold.within.word(), .size = *size}, effort);
  // Everything it may have is always an answer, if not the narrowest.
  return mask ? NodeSet::of_word(*mask) : threshold.within;
}

// The narrowest hint that contains `nodes`. It is a preferred one, if any is.
std::optional<Hint> narrowest_hint(const HintFamily& family, const NodeSet& nodes) {
  std::optional<Hint> best;
  const auto consider = [&](const Hint& hint) {
    if (!best || is_narrower(*hint.nodes, *best->nodes)) best = hint;
  };
  for (const Hint& hint : family.listed) {
    if (nodes.is_subset_of(*hint.nodes)) consider(hint);
  }
  // The threshold has sets of two nodes and more only.
  if (!family.threshold || (best && best->nodes->size() == 1)) return best;
  Threshold threshold = *family.threshold;
  if (!nodes.is_subset_of(threshold.within)) return best;
  threshold.required |= nodes;
  if (const auto set = narrowest_set(threshold)) {
    consider({.nodes = *set, .preferred = set->size() == family.preference.size});
  }
  return best;
}

// Of a container that has its memory: there and nowhere else. It does not care if it asks
// for something else than it has.
std::vector<ResourceHints> kept_hints(const MemoryHolding& holding, const NodeMemory& request) {
  std::vector<ResourceHints> hints;
  if (holding.bytes != request) return hints;
  for (const auto& [resource, bytes] : request) {
    HintFamily family;
    family.listed.push_back({.nodes = holding.nodes, .preferred = true});
    hints.push_back({.resource = resource, .family = std::move(family)});
  }
  return hints;
}

Error exhausted(std::string message) { return Error{Code::kExhausted, std::move(message)}; }

}  // namespace

bool is_memory(std::string_view resource) {
  return resource == kMemory || resource.starts_with("hugepages-");
}

Result<NodeMemory> memory_request(const Pod& pod, const Container& container,
                                  const PodGates& gates) {
  NodeMemory request;
  if (!asks_memory(pod, gates)) return request;
  for (const auto& [resource, amount] : container.resources.requests) {
    if (!is_memory(resource) || amount.sign() <= 0) continue;
    const auto bytes = amount.scaled(0);
    if (!bytes || Quantity::of(*bytes) != amount) {
      return Error{Code::kInvalid,
                   fmt::format("[memorymanager] failed to represent quantity as int64: {} of {}",
                               amount.str(), resource)};
    }
    request[resource] = *bytes;
  }
  return request;
}

Result<NodeMemory> memory_request(const Pod& pod, const PodGates& gates) {
  std::map<std::string, NodeMemory> by_container;
  for (const Container* container : in_starting_order(pod)) {
    by_container[container->name] = TRY(memory_request(pod, *container, gates));
  }
  NodeMemory request;
  // As in the kubelet, what only init containers and sidecars ask for is left out.
  for (const Container& container : pod.containers) {
    for (const auto& [resource, bytes] : by_container.at(container.name)) {
      request[resource] = most_at_once(pod, [&, &name = resource](const Container& each) {
        return amount_in(by_container.at(each.name), name);
      });
    }
  }
  return request;
}

Result<MemoryBook> MemoryBook::make(const MemoryInventory& total, const MemoryInventory& reserved) {
  MemoryBook book;
  for (const auto& [id, memory] : total) {
    MemoryNode& node = book.nodes_[id];
    node.group.insert(id);
    for (const auto& [resource, bytes] : memory) {
      node.allocatable[resource] = std::clamp<std::int64_t>(bytes, 0, kMostBytes);
    }
  }
  for (const auto& [id, memory] : reserved) {
    for (const auto& [resource, bytes] : memory) {
      if (bytes == 0) continue;
      const auto node = book.nodes_.find(id);
      const std::int64_t there =
          node == book.nodes_.end() ? 0 : amount_in(node->second.allocatable, resource);
      if (bytes < 0 || bytes > there) {
        return Error{Code::kInvalid,
                     fmt::format("cannot reserve {} bytes of {} on NUMA node {}, which has {}",
                                 bytes, resource, id.value, there)};
      }
      node->second.allocatable[resource] -= bytes;
    }
  }
  for (auto& [id, node] : book.nodes_) node.free = node.allocatable;
  return book;
}

const MemoryHolding* MemoryBook::find(const std::string& pod_uid,
                                      const std::string& container) const {
  const auto pod = pods_.find(pod_uid);
  if (pod == pods_.end()) return nullptr;
  const auto holding = pod->second.find(container);
  return holding == pod->second.end() ? nullptr : &holding->second;
}

std::int64_t MemoryBook::amount(const NodeSet& nodes, NodeMemory MemoryNode::*kind,
                                const std::string& resource) const {
  std::int64_t sum = 0;
  for (const NodeId id : nodes) sum += amount_in(nodes_.at(id).*kind, resource);
  return sum;
}

std::int64_t MemoryBook::reusable(const std::string& pod, const NodeSet& nodes,
                                  const std::string& resource) const {
  if (reusable_.pod != pod) return 0;
  for (const MemoryHolding& left : reusable_.left) {
    if (left.nodes == nodes) return amount_in(left.bytes, resource);
  }
  return 0;
}

Need MemoryBook::need(const NodeSet& nodes, NodeMemory MemoryNode::*kind,
                      const std::string& resource, std::int64_t bytes) const {
  Need need{.piles = {}, .amount = bytes};
  for (const NodeId id : nodes) {
    const std::int64_t there = amount_in(nodes_.at(id).*kind, resource);
    if (there > 0) need.piles.push_back({.nodes = {id}, .amount = there});
  }
  return need;
}

bool MemoryBook::suffice(const NodeSet& nodes, const NodeMemory& request) const {
  return std::all_of(request.begin(), request.end(), [&](const auto& entry) {
    return amount(nodes, &MemoryNode::free, entry.first) >= entry.second;
  });
}

bool MemoryBook::keep_groups(const NodeSet& nodes) const {
  for (const NodeId id : nodes) {
    const MemoryNode& node = nodes_.at(id);
    if (node.assignments > 0 && node.group != nodes) return false;
  }
  return true;
}

bool MemoryBook::can_hold(const std::string& pod, const NodeSet& nodes,
                          const NodeMemory& request) const {
  if (!keep_groups(nodes)) return false;
  return std::all_of(request.begin(), request.end(), [&](const auto& entry) {
    const auto& [resource, bytes] = entry;
    return amount(nodes, &MemoryNode::allocatable, resource) >= bytes &&
           amount(nodes, &MemoryNode::free, resource) + reusable(pod, nodes, resource) >= bytes;
  });
}

std::optional<HintFamily> MemoryBook::family(const std::string& pod,
                                             const NodeMemory& request) const {
  NodeSet all;
  NodeSet idle;
  std::vector<NodeSet> groups;
  for (const auto& [id, node] : nodes_) {
    all.insert(id);
    if (node.assignments == 0) idle.insert(id);
    if (node.group.size() == 1 || node.group.first() == id) groups.push_back(node.group);
  }
  Threshold possible{.required = {}, .within = all, .needs = {}};
  Threshold free{.required = {}, .within = idle, .needs = {}};
  for (const auto& [resource, bytes] : request) {
    possible.needs.push_back(need(all, &MemoryNode::allocatable, resource, bytes));
    free.needs.push_back(need(idle, &MemoryNode::free, resource, bytes));
  }
  Need several{.piles = {}, .amount = 2};
  for (const NodeId id : idle) several.piles.push_back({.nodes = {id}, .amount = 1});
  free.needs.push_back(std::move(several));

  HintFamily family;
  family.preference.size = narrowest(possible).value_or(all.size());
  for (const NodeSet& group : groups) {
    if (!can_hold(pod, group, request)) continue;
    family.listed.push_back({.nodes = group, .preferred = group.size() == family.preference.size});
  }
  if (contains(free, idle)) family.threshold = std::move(free);
  if (family.listed.empty() && !family.threshold) return std::nullopt;
  return family;
}

std::vector<ResourceHints> MemoryBook::hints_for(const std::string& pod,
                                                 const NodeMemory& request) const {
  std::vector<ResourceHints> hints;
  if (request.empty()) return hints;
  const std::optional<HintFamily> all = family(pod, request);
  for (const auto& [resource, bytes] : request) {
    hints.push_back({.resource = resource, .family = all});
  }
  return hints;
}

std::vector<ResourceHints> MemoryBook::hints(const Pod& pod, const Container& container,
                                             const PodGates& gates) const {
  if (!enabled()) return {};
  const auto request = memory_request(pod, container, gates);
  if (!request) return {};
  const MemoryHolding* holding = find(pod.uid, container.name);
  if (holding == nullptr) return hints_for(pod.uid, *request);
  return kept_hints(*holding, *request);
}

std::vector<ResourceHints> MemoryBook::pod_hints(const Pod& pod, const PodGates& gates) const {
  if (!enabled()) return {};
  const auto request = memory_request(pod, gates);
  if (!request) return {};
  for (const Container* container : in_starting_order(pod)) {
    const MemoryHolding* holding = find(pod.uid, container->name);
    if (holding != nullptr) return kept_hints(*holding, *request);
  }
  return hints_for(pod.uid, *request);
}

Result<NodeSet> MemoryBook::choose(const std::string& pod, const NodeMemory& request,
                                   const Hint& hint) const {
  const auto all = family(pod, request);
  NodeSet nodes;
  if (hint.nodes) {
    for (const auto& [id, node] : nodes_) {
      if (hint.nodes->contains(id)) nodes.insert(id);
    }
  }
  if (nodes.empty()) {
    if (!all) {
      return exhausted(
          "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
          "memory is available");
    }
    const Hint best = *narrowest_hint(*all, {});
    if (hint.preferred && !best.preferred) {
      return exhausted("[memorymanager] failed to find the default preferred hint");
    }
    return *best.nodes;
  }
  const bool joins_group = nodes.size() == 1 && nodes_.at(nodes.first()).group.size() > 1;
  if (!suffice(nodes, request) || joins_group) {
    const auto best = all ? narrowest_hint(*all, nodes) : std::nullopt;
    if (!best) {
      return exhausted(
          "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
    }
    if (hint.preferred && !best->preferred) {
      return exhausted("[memorymanager] failed to find the extended preferred hint");
    }
    return *best->nodes;
  }
  if (!keep_groups(nodes)) {
    return Error{Code::kConflict, "[memorymanager] preferred hint violates NUMA node allocation"};
  }
  return nodes;
}

Result<MemoryHolding> MemoryBook::allocate(const Pod& pod, const Container& container,
                                           const Hint& hint, const PodGates& gates) {
  if (!enabled()) return MemoryHolding{};
  NodeMemory request = TRY(memory_request(pod, container, gates));
  if (const MemoryHolding* kept = find(pod.uid, container.name)) {
    const MemoryHolding holding = *kept;
    leave_or_take(pod.uid, container.kind, holding);
    return holding;
  }
  if (request.empty()) return MemoryHolding{};
  const NodeSet nodes = TRY(choose(pod.uid, request, hint));
  const MemoryHolding holding{.nodes = nodes, .bytes = std::move(request)};
  for (const auto& [resource, bytes] : holding.bytes) {
    book(nodes, resource, std::max<std::int64_t>(0, bytes - reusable(pod.uid, nodes, resource)));
  }
  leave_or_take(pod.uid, container.kind, holding);
  pods_[pod.uid][container.name] = holding;
  shorten_earlier(pod, container, holding);
  return holding;
}

Result<void> MemoryBook::restore(const std::string& pod_uid, const std::string& container,
                                 const MemoryHolding& holding) {
  if (find(pod_uid, container) != nullptr) return {};
  for (const NodeId id : holding.nodes) {
    if (nodes_.contains(id)) continue;
    return Error{Code::kNotFound,
                 fmt::format("it holds memory of NUMA node {}, which is not there", id.value)};
  }
  for (const auto& [resource, bytes] : holding.bytes) book(holding.nodes, resource, bytes);
  pods_[pod_uid][container] = holding;
  return {};
}

void MemoryBook::book(const NodeSet& nodes, const std::string& resource, std::int64_t bytes) {
  for (const NodeId id : nodes) {
    MemoryNode& node = nodes_.at(id);
    ++node.assignments;
    node.group = nodes;
    const std::int64_t part = std::min(bytes, amount_in(node.free, resource));
    if (part > 0) node.free[resource] -= part;
    bytes -= part;
  }
}

void MemoryBook::unbook(const NodeSet& nodes, const std::string& resource, std::int64_t bytes) {
  for (const NodeId id : nodes) {
    MemoryNode& node = nodes_.at(id);
    --node.assignments;
    if (node.assignments == 0) node.group = {id};
    const std::int64_t booked =
        amount_in(node.allocatable, resource) - amount_in(node.free, resource);
    const std::int64_t part = std::min(bytes, booked);
    if (part > 0) node.free[resource] += part;
    bytes -= part;
  }
}

// An init container leaves its memory to later containers of the pod, others use up what
// was left.
void MemoryBook::leave_or_take(const std::string& pod, Container::Kind kind,
                               const MemoryHolding& holding) {
  if (reusable_.pod != pod) reusable_ = {.pod = pod, .left = {}};
  auto left = std::find_if(reusable_.left.begin(), reusable_.left.end(),
                           [&](const MemoryHolding& each) { return each.nodes == holding.nodes; });
  if (kind == Container::Kind::kInit) {
    if (left == reusable_.left.end()) {
      reusable_.left.push_back(holding);
      return;
    }
    for (const auto& [resource, bytes] : holding.bytes) {
      left->bytes[resource] = std::max(amount_in(left->bytes, resource), bytes);
    }
  } else if (left != reusable_.left.end()) {
    for (const auto& [resource, bytes] : holding.bytes) {
      left->bytes[resource] = std::max<std::int64_t>(0, amount_in(left->bytes, resource) - bytes);
    }
  }
}

// What the container has taken over counts no longer for the init containers before it.
void MemoryBook::shorten_earlier(const Pod& pod, const Container& container,
                                 const MemoryHolding& holding) {
  std::map<std::string, MemoryHolding>& held = pods_.at(pod.uid);
  NodeMemory rest = holding.bytes;
  for (const Container& earlier : pod.init_containers) {
    if (earlier.name == container.name) break;
    const auto found = held.find(earlier.name);
    if (earlier.kind != Container::Kind::kInit || found == held.end() ||
        found->second.nodes != holding.nodes) {
      continue;
    }
    for (auto& [resource, bytes] : found->second.bytes) {
      std::int64_t& taken = rest[resource];
      const std::int64_t part = std::min(bytes, taken);
      bytes -= part;
      taken -= part;
    }
  }
}

void MemoryBook::release(const std::string& pod_uid) {
  const auto pod = pods_.find(pod_uid);
  if (pod == pods_.end()) return;
  for (const auto& [name, holding] : pod->second) {
    for (const auto& [resource, bytes] : holding.bytes) unbook(holding.nodes, resource, bytes);
  }
  pods_.erase(pod);
  if (reusable_.pod == pod_uid) settle();
}

MemoryBook::PodPart MemoryBook::part_of(const std::string& pod_uid) const {
  PodPart part;
  if (!enabled()) return part;
  const auto pod = pods_.find(pod_uid);
  if (pod != pods_.end()) part.holdings = pod->second;
  part.reusable = reusable_;
  part.nodes.reserve(nodes_.size());
  for (const auto& [id, node] : nodes_) {
    part.nodes.push_back({.free = node.free, .assignments = node.assignments, .group = node.group});
  }
  return part;
}

void MemoryBook::put_back(const std::string& pod_uid, const PodPart& part) {
  CHECK(part.nodes.size() == nodes_.size());
  if (part.holdings) {
    pods_.insert_or_assign(pod_uid, *part.holdings);
  } else {
    pods_.erase(pod_uid);
  }
  reusable_ = part.reusable;
  std::size_t i = 0;
  for (auto& [id, node] : nodes_) {
    const NodeUse& use = part.nodes[i++];
    node.free = use.free;
    node.assignments = use.assignments;
    node.group = use.group;
  }
}

}  // namespace corehold
