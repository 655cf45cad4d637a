// SPDX-License-Identifier: Apache-2.0
//
// Devices as a topology hint provider, and who holds which. As the kubelet's device
// manager, without plugins: the inventory says what there is, all of it healthy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "hints/device_inventory.h"
#include "hints/hint.h"
#include "pod/pod.h"

namespace corehold {

// Ids by resource, in the order of the inventory.
using DeviceHolding = std::map<std::string, std::vector<std::string>>;

class DeviceBook {
  // Devices that init containers of one pod leave to its later ones.
  struct Reusable {
    std::string pod{};
    DeviceHolding left{};

    bool operator==(const Reusable&) const = default;
  };

 public:
  // Of a machine without devices.
  DeviceBook() = default;
  // Fails with kInvalid when a resource has a device twice.
  static Result<DeviceBook> make(DeviceInventory inventory);

  const DeviceInventory& inventory() const { return inventory_; }
  // By pod UID and container name.
  using Pods = std::map<std::string, std::map<std::string, DeviceHolding>>;
  const Pods& pods() const { return pods_; }
  // Those nobody holds, in the order of the inventory.
  std::vector<std::string> available(const std::string& resource) const;

  // One entry for each resource of the inventory that the container asks for. `nodes`:
  // all NUMA nodes of the machine. It does not care where, if no device of the resource
  // has NUMA nodes; no hints at all: too few devices are left.
  std::vector<ResourceHints> hints(const NodeSet& nodes, const Pod& pod,
                                   const Container& container) const;
  // The same for the pod at the most demanding moment of its life.
  std::vector<ResourceHints> pod_hints(const NodeSet& nodes, const Pod& pod) const;

  // Gives the container its devices: first those that init containers of the pod have
  // left, then those near `affinity` with the fewest nodes outside it, then other ones with NUMA
  // nodes, then those without. Ties go by the order of the inventory. What it holds
  // afterwards; a container that holds devices already keeps them.
  //
  // Fails with kExhausted when too few are left, kNotFound for an extended resource that
  // the inventory does not have, and kConflict when the container holds another number of
  // devices than it asks for; nothing is given then.
  Result<DeviceHolding> allocate(const Pod& pod, const Container& container,
                                 const std::optional<NodeSet>& affinity);

  // Gives a container again what it held before a restart. A container that holds devices
  // already keeps them.
  //
  // Fails with kNotFound when there is no such device any more, and kConflict when a
  // container of another pod holds it; nothing is given then.
  Result<void> restore(const std::string& pod_uid, const std::string& container,
                       const DeviceHolding& holding);

  // The pod is complete: no later container of it takes over devices any more.
  void settle() { reusable_ = {}; }

  // Gives back what all containers of the pod hold. An unknown pod is no error.
  void release(const std::string& pod_uid);

  // Everything that allocate(), settle() and release() for one pod may change: what the pod
  // holds, and what is left to later containers.
  struct PodPart {
    std::optional<std::map<std::string, DeviceHolding>> holdings{};  // by container
    Reusable reusable{};

    bool operator==(const PodPart&) const = default;
  };
  PodPart part_of(const std::string& pod_uid) const;
  // The book as it was when part_of() gave this part, if only decisions about this pod have been
  // made since, or the others have been put back in reverse order.
  void put_back(const std::string& pod_uid, const PodPart& part);

  bool operator==(const DeviceBook&) const = default;

 private:
  // Devices of one resource: a flag for each, in the order of the inventory.
  using Choice = std::vector<bool>;

  std::vector<std::string> reusable(const std::string& pod, const std::string& resource) const;
  // Null when the container holds none.
  const std::vector<std::string>* find(const std::string& pod, const std::string& container,
                                       const std::string& resource) const;
  bool has_nodes(const std::string& resource) const;
  // Those nobody holds.
  Choice free_devices(const std::string& resource) const;
  Choice choice_of(const std::string& resource, const std::vector<std::string>& ids) const;
  // Where `count` of the devices in `free` and `left` could be had, all of the latter near.
  HintFamily family(const NodeSet& nodes, const std::string& resource, const Choice& free,
                    const Choice& left, std::int64_t count) const;
  Result<std::vector<std::string>> choose(const std::string& pod, const std::string& resource,
                                          std::int64_t count,
                                          const std::optional<NodeSet>& affinity) const;
  bool is_any_held(const DeviceHolding& holding) const;
  // Fails with kConflict when a container of another pod holds one of the devices.
  Result<void> check_other_pods(const std::string& pod_uid, const DeviceHolding& holding) const;
  // Adds `by` to the number of holders of each of the devices.
  void count_holders(const DeviceHolding& holding, int by);
  void count_holders(const std::map<std::string, DeviceHolding>& containers, int by);
  void set_holding(const std::string& pod, const std::string& container,
                   const DeviceHolding& holding);

  DeviceInventory inventory_{};
  // How many containers hold each device, by resource and in the order of the inventory; an init
  // container and a later one of its pod may hold the same.
  std::map<std::string, std::vector<int>> holders_{};
  Pods pods_{};
  Reusable reusable_{};
};

}  // namespace corehold
