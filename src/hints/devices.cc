// SPDX-License-Identifier: Apache-2.0
#include "hints/devices.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "hints/family.h"
#include "pod/qos.h"

namespace corehold {
namespace {

using Ids = std::vector<std::string>;

// Names that only a device plugin could serve: with a domain, which is not Kubernetes'.
bool is_extended(const std::string& resource) {
  return resource.find('/') != std::string::npos &&
         resource.find("kubernetes.io/") == std::string::npos;
}

bool has(const Ids& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::int64_t count_asked(const Container& container, const std::string& resource) {
  return std::max<std::int64_t>(0, container.limit(resource).value());
}

void add_device(Need& need, const NodeSet& nodes) {
  if (nodes.empty()) return;
  for (Pile& pile : need.piles) {
    if (pile.nodes != nodes) continue;
    ++pile.amount;
    return;
  }
  need.piles.push_back({.nodes = nodes, .amount = 1});
}

HintFamily nowhere() { return {}; }

}  // namespace

Result<DeviceBook> DeviceBook::make(DeviceInventory inventory) {
  for (const auto& [resource, devices] : inventory) {
    std::set<std::string> ids;
    for (const Device& device : devices) {
      if (ids.insert(device.id).second) continue;
      return Error{Code::kInvalid, fmt::format("{} has device {:?} twice", resource, device.id)};
    }
  }
  DeviceBook book;
  book.inventory_ = std::move(inventory);
  return book;
}

Ids DeviceBook::available(const std::string& resource) const {
  std::set<std::string> held;
  for (const auto& [pod, containers] : pods_) {
    for (const auto& [name, holding] : containers) {
      const auto ids = holding.find(resource);
      if (ids != holding.end()) held.insert(ids->second.begin(), ids->second.end());
    }
  }
  Ids free;
  const auto devices = inventory_.find(resource);
  if (devices == inventory_.end()) return free;
  for (const Device& device : devices->second) {
    if (!held.contains(device.id)) free.push_back(device.id);
  }
  return free;
}

Ids DeviceBook::reusable(const std::string& pod, const std::string& resource) const {
  if (reusable_.pod != pod) return {};
  const auto left = reusable_.left.find(resource);
  return left == reusable_.left.end() ? Ids{} : left->second;
}

const Ids* DeviceBook::find(const std::string& pod, const std::string& container,
                            const std::string& resource) const {
  const auto containers = pods_.find(pod);
  if (containers == pods_.end()) return nullptr;
  const auto holding = containers->second.find(container);
  if (holding == containers->second.end()) return nullptr;
  const auto ids = holding->second.find(resource);
  return ids == holding->second.end() ? nullptr : &ids->second;
}

bool DeviceBook::has_nodes(const std::string& resource) const {
  const std::vector<Device>& devices = inventory_.at(resource);
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return !device.nodes.empty(); });
}

HintFamily DeviceBook::family(const NodeSet& nodes, const std::string& resource, const Ids& free,
                              const Ids& left, std::int64_t count) const {
  Need all{.piles = {}, .amount = count};
  Need rest{.piles = {}, .amount = count};
  Threshold threshold{.required = {}, .within = nodes, .needs = {}};
  for (const Device& device : inventory_.at(resource)) {
    const NodeSet near = device.nodes & nodes;
    add_device(all, near);
    if (has(free, device.id)) add_device(rest, near);
    if (device.nodes.empty() || !has(left, device.id)) continue;
    // Every device that is left to the container has to be near.
    --rest.amount;
    if (near.size() == 1) {
      threshold.required |= near;
    } else {
      Need touch{.piles = {}, .amount = 1};
      add_device(touch, near);
      threshold.needs.push_back(std::move(touch));
    }
  }
  const auto fewest = narrowest({.required = {}, .within = nodes, .needs = {all}});
  rest.amount = std::max<std::int64_t>(0, rest.amount);
  threshold.needs.push_back(std::move(rest));
  if (!contains(threshold, nodes)) return nowhere();
  HintFamily family;
  family.threshold = std::move(threshold);
  family.preference.size = fewest.value_or(nodes.size());
  return family;
}

std::vector<ResourceHints> DeviceBook::hints(const NodeSet& nodes, const Pod& pod,
                                             const Container& container) const {
  std::vector<ResourceHints> hints;
  for (const auto& [resource, devices] : inventory_) {
    const std::int64_t count = count_asked(container, resource);
    if (count == 0) continue;
    ResourceHints& entry = hints.emplace_back();
    entry.resource = resource;
    if (!has_nodes(resource)) continue;
    if (const Ids* held = find(pod.uid, container.name, resource)) {
      const bool same = static_cast<std::int64_t>(held->size()) == count;
      entry.family = same ? family(nodes, resource, *held, {}, count) : nowhere();
      continue;
    }
    const Ids free = available(resource);
    const Ids left = reusable(pod.uid, resource);
    const bool enough = static_cast<std::int64_t>(free.size() + left.size()) >= count;
    entry.family = enough ? family(nodes, resource, free, left, count) : nowhere();
  }
  return hints;
}

std::vector<ResourceHints> DeviceBook::pod_hints(const NodeSet& nodes, const Pod& pod) const {
  std::vector<ResourceHints> hints;
  for (const auto& [resource, devices] : inventory_) {
    const std::int64_t count = most_at_once(pod, [&, &name = resource](const Container& container) {
      return count_asked(container, name);
    });
    if (count == 0) continue;
    ResourceHints& entry = hints.emplace_back();
    entry.resource = resource;
    if (!has_nodes(resource)) continue;
    Ids held;
    for (const Container* container : in_starting_order(pod)) {
      const Ids* ids = find(pod.uid, container->name, resource);
      if (ids == nullptr) continue;
      for (const std::string& id : *ids) {
        if (!has(held, id)) held.push_back(id);
      }
    }
    const Ids from = held.empty() ? available(resource) : held;
    const auto there = static_cast<std::int64_t>(from.size());
    const bool possible = held.empty() ? there >= count : there == count;
    entry.family = possible ? family(nodes, resource, from, {}, count) : nowhere();
  }
  return hints;
}

Result<Ids> DeviceBook::choose(const std::string& pod, const std::string& resource,
                               std::int64_t count, const std::optional<NodeSet>& affinity) const {
  enum class Rank { kNear, kFar, kNowhere };
  // Left by init containers or not, how near, and how many nodes reach beyond the affinity.
  using Key = std::tuple<bool, Rank, int>;
  const Ids free = available(resource);
  const Ids left = reusable(pod, resource);
  const bool aligned = affinity && has_nodes(resource);
  std::vector<std::pair<Key, std::string>> candidates;
  for (const Device& device : inventory_.at(resource)) {
    const bool reused = has(left, device.id);
    if (!reused && !has(free, device.id)) continue;
    Key key{!reused, Rank::kNowhere, 0};
    if (aligned && !device.nodes.empty()) {
      const bool near = device.nodes.intersects(*affinity);
      key = {!reused, near ? Rank::kNear : Rank::kFar,
             near ? (device.nodes - *affinity).size() : 0};
    }
    candidates.emplace_back(key, device.id);
  }
  if (static_cast<std::int64_t>(candidates.size()) < count) {
    // The kubelet counts what is asked beyond the devices it can use again.
    return Error{
        Code::kExhausted,
        fmt::format("requested number of devices unavailable for {}. Requested: {}, "
                    "Available: {}",
                    resource, count - static_cast<std::int64_t>(left.size()), free.size())};
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  candidates.resize(static_cast<std::size_t>(count));
  Ids chosen;
  for (const Device& device : inventory_.at(resource)) {
    if (std::any_of(candidates.begin(), candidates.end(),
                    [&](const auto& candidate) { return candidate.second == device.id; })) {
      chosen.push_back(device.id);
    }
  }
  return chosen;
}

Result<DeviceHolding> DeviceBook::allocate(const Pod& pod, const Container& container,
                                           const std::optional<NodeSet>& affinity) {
  DeviceHolding holding;
  for (const auto& [resource, amount] : container.resources.limits) {
    const std::int64_t count = count_asked(container, resource);
    if (count == 0) continue;
    if (!inventory_.contains(resource)) {
      if (!is_extended(resource)) continue;
      return Error{Code::kNotFound,
                   fmt::format("cannot allocate unregistered device {}; list the devices of this "
                               "resource under devices in CoreholdConfiguration",
                               resource)};
    }
    const Ids* held = find(pod.uid, container.name, resource);
    if (held == nullptr) {
      holding[resource] = TRY(choose(pod.uid, resource, count, affinity));
    } else if (static_cast<std::int64_t>(held->size()) == count) {
      holding[resource] = *held;
    } else {
      return Error{Code::kConflict,
                   fmt::format("pod {:?} container {:?} changed request for "
                               "resource {:?} from {} to {}",
                               pod.uid, container.name, resource, held->size(), count)};
    }
  }
  if (holding.empty()) return holding;
  if (reusable_.pod != pod.uid) reusable_ = {.pod = pod.uid, .left = {}};
  for (const auto& [resource, ids] : holding) {
    Ids& left = reusable_.left[resource];
    for (const std::string& id : ids) {
      std::erase(left, id);
      if (container.kind == Container::Kind::kInit) left.push_back(id);
    }
  }
  pods_[pod.uid][container.name] = holding;
  return holding;
}

Result<void> DeviceBook::restore(const std::string& pod_uid, const std::string& container,
                                 const DeviceHolding& holding) {
  const auto mine = pods_.find(pod_uid);
  if (mine != pods_.end() && mine->second.contains(container)) return {};
  for (const auto& [resource, ids] : holding) {
    const auto devices = inventory_.find(resource);
    for (const std::string& id : ids) {
      const bool exists = devices != inventory_.end() &&
                          std::any_of(devices->second.begin(), devices->second.end(),
                                      [&id = id](const Device& device) { return device.id == id; });
      if (!exists) {
        return Error{Code::kNotFound,
                     fmt::format("it holds device {:?} of {}, which is not there", id, resource)};
      }
    }
  }
  for (const auto& [pod, containers] : pods_) {
    if (pod == pod_uid) continue;
    for (const auto& [name, other] : containers) {
      for (const auto& [resource, ids] : other) {
        const auto wanted = holding.find(resource);
        if (wanted == holding.end()) continue;
        for (const std::string& id : ids) {
          if (!has(wanted->second, id)) continue;
          return Error{Code::kConflict, fmt::format("device {:?} of {} is held by container {} of "
                                                    "pod {} too",
                                                    id, resource, name, pod)};
        }
      }
    }
  }
  pods_[pod_uid][container] = holding;
  return {};
}

void DeviceBook::release(const std::string& pod_uid) {
  pods_.erase(pod_uid);
  if (reusable_.pod == pod_uid) settle();
}

}  // namespace corehold
