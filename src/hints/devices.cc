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

std::int64_t chosen(const std::vector<bool>& choice) {
  return std::count(choice.begin(), choice.end(), true);
}

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
  for (const auto& [resource, devices] : book.inventory_) {
    book.holders_[resource].resize(devices.size());
  }
  return book;
}

DeviceBook::Choice DeviceBook::free_devices(const std::string& resource) const {
  const std::vector<int>& holders = holders_.at(resource);
  Choice free(holders.size());
  for (std::size_t i = 0; i < holders.size(); ++i) free[i] = holders[i] == 0;
  return free;
}

DeviceBook::Choice DeviceBook::choice_of(const std::string& resource, const Ids& ids) const {
  const std::vector<Device>& devices = inventory_.at(resource);
  Choice choice(devices.size());
  if (ids.empty()) return choice;
  for (std::size_t i = 0; i < devices.size(); ++i) choice[i] = has(ids, devices[i].id);
  return choice;
}

Ids DeviceBook::available(const std::string& resource) const {
  Ids ids;
  const auto devices = inventory_.find(resource);
  if (devices == inventory_.end()) return ids;
  const Choice free = free_devices(resource);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i]) ids.push_back(devices->second[i].id);
  }
  return ids;
}

Ids DeviceBook::reusable(const std::string& pod, const std::string& resource) const {
  if (reusable_.pod != pod) return {};
  const auto left = reusable_.left.find(resource);
  return left == reusable_.left.end() ? Ids{} : left->second;
}

void DeviceBook::count_holders(const DeviceHolding& holding, int by) {
  for (const auto& [resource, ids] : holding) {
    const std::vector<Device>& devices = inventory_.at(resource);
    std::vector<int>& holders = holders_.at(resource);
    for (const std::string& id : ids) {
      const auto device = std::find_if(devices.begin(), devices.end(),
                                       [&](const Device& each) { return each.id == id; });
      CHECK(device != devices.end());
      holders[static_cast<std::size_t>(device - devices.begin())] += by;
    }
  }
}

void DeviceBook::count_holders(const std::map<std::string, DeviceHolding>& containers, int by) {
  for (const auto& [name, holding] : containers) count_holders(holding, by);
}

void DeviceBook::set_holding(const std::string& pod, const std::string& container,
                             const DeviceHolding& holding) {
  DeviceHolding& held = pods_[pod][container];
  count_holders(held, -1);
  held = holding;
  count_holders(held, 1);
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

HintFamily DeviceBook::family(const NodeSet& nodes, const std::string& resource, const Choice& free,
                              const Choice& left, std::int64_t count) const {
  Need all{.piles = {}, .amount = count};
  Need rest{.piles = {}, .amount = count};
  Threshold threshold{.required = {}, .within = nodes, .needs = {}};
  const std::vector<Device>& devices = inventory_.at(resource);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const NodeSet near = devices[i].nodes & nodes;
    add_device(all, near);
    if (free[i]) add_device(rest, near);
    if (devices[i].nodes.empty() || !left[i]) continue;
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
      entry.family =
          same ? family(nodes, resource, choice_of(resource, *held), choice_of(resource, {}), count)
               : nowhere();
      continue;
    }
    const Choice free = free_devices(resource);
    const Choice left = choice_of(resource, reusable(pod.uid, resource));
    const bool enough = chosen(free) + chosen(left) >= count;
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
    const Choice from = held.empty() ? free_devices(resource) : choice_of(resource, held);
    const std::int64_t there = chosen(from);
    const bool possible = held.empty() ? there >= count : there == count;
    entry.family =
        possible ? family(nodes, resource, from, choice_of(resource, {}), count) : nowhere();
  }
  return hints;
}

Result<Ids> DeviceBook::choose(const std::string& pod, const std::string& resource,
                               std::int64_t count, const std::optional<NodeSet>& affinity) const {
  enum class Rank { kNear, kFar, kNowhere };
  // Left by init containers or not, how near, and how many nodes reach beyond the affinity.
  using Key = std::tuple<bool, Rank, int>;
  const std::vector<Device>& devices = inventory_.at(resource);
  const Choice free = free_devices(resource);
  const Choice left = choice_of(resource, reusable(pod, resource));
  const bool aligned = affinity && has_nodes(resource);
  std::vector<std::pair<Key, std::size_t>> candidates;  // the place in the inventory
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!left[i] && !free[i]) continue;
    Key key{!left[i], Rank::kNowhere, 0};
    if (aligned && !devices[i].nodes.empty()) {
      const bool near = devices[i].nodes.intersects(*affinity);
      key = {!left[i], near ? Rank::kNear : Rank::kFar,
             near ? (devices[i].nodes - *affinity).size() : 0};
    }
    candidates.emplace_back(key, i);
  }
  if (static_cast<std::int64_t>(candidates.size()) < count) {
    // The kubelet counts what is asked beyond the devices it can use again.
    return Error{Code::kExhausted,
                 fmt::format("requested number of devices unavailable for {}. Requested: {}, "
                             "Available: {}",
                             resource, count - chosen(left), chosen(free))};
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(static_cast<std::size_t>(count));
  std::vector<std::size_t> places;
  places.reserve(candidates.size());
  for (const auto& [key, place] : candidates) places.push_back(place);
  std::sort(places.begin(), places.end());
  Ids ids;
  ids.reserve(places.size());
  for (const std::size_t place : places) ids.push_back(devices[place].id);
  return ids;
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
  set_holding(pod.uid, container.name, holding);
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
  if (is_any_held(holding)) TRY(check_other_pods(pod_uid, holding));
  set_holding(pod_uid, container, holding);
  return {};
}

bool DeviceBook::is_any_held(const DeviceHolding& holding) const {
  return std::any_of(holding.begin(), holding.end(), [&](const auto& entry) {
    const Choice wanted = choice_of(entry.first, entry.second);
    const std::vector<int>& holders = holders_.at(entry.first);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if (wanted[i] && holders[i] > 0) return true;
    }
    return false;
  });
}

Result<void> DeviceBook::check_other_pods(const std::string& pod_uid,
                                          const DeviceHolding& holding) const {
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
  return {};
}

void DeviceBook::release(const std::string& pod_uid) {
  const auto pod = pods_.find(pod_uid);
  if (pod != pods_.end()) {
    count_holders(pod->second, -1);
    pods_.erase(pod);
  }
  if (reusable_.pod == pod_uid) settle();
}

DeviceBook::PodPart DeviceBook::part_of(const std::string& pod_uid) const {
  PodPart part{.holdings = {}, .reusable = reusable_};
  const auto pod = pods_.find(pod_uid);
  if (pod != pods_.end()) part.holdings = pod->second;
  return part;
}

void DeviceBook::put_back(const std::string& pod_uid, const PodPart& part) {
  release(pod_uid);
  reusable_ = part.reusable;
  if (!part.holdings) return;
  count_holders(*part.holdings, 1);
  pods_.emplace(pod_uid, *part.holdings);
}

}  // namespace corehold
