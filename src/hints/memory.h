// SPDX-License-Identifier: Apache-2.0
//
// The memory of a machine as a topology hint provider, and who holds how much of it
// where. As the kubelet's memory manager with policy Static: only Guaranteed pods hold
// any, a container has its memory on a group of NUMA nodes, and a node serves either
// containers that need it alone or one group of several nodes, never both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "hints/hint.h"
#include "pod/pod.h"
#include "pod/qos.h"
#include "topology/memory_inventory.h"

namespace corehold {

// Whether the resource is memory or huge pages.
bool is_memory(std::string_view resource);

// What a container, or a pod at the most demanding moment of its life, has to be given:
// bytes by resource, none of them 0. Empty: nothing, because the pod is not Guaranteed or
// has pod-level resources.
//
// Fails with kInvalid when an amount is not a whole number of bytes below 2^63.
Result<NodeMemory> memory_request(const Pod& pod, const Container& container,
                                  const PodGates& gates);
Result<NodeMemory> memory_request(const Pod& pod, const PodGates& gates);

// What one container holds. Memory that a later container of the pod has taken over from
// a finished init container counts for the later one, so an init container may end up
// with 0 bytes.
struct MemoryHolding {
  NodeSet nodes{};
  NodeMemory bytes{};

  bool operator==(const MemoryHolding&) const = default;
};

// One NUMA node.
struct MemoryNode {
  NodeMemory allocatable{};
  NodeMemory free{};
  int assignments = 0;  // one for each resource of each container that has memory here
  NodeSet group{};      // the nodes it serves together with; itself alone when it is idle

  bool operator==(const MemoryNode&) const = default;
};

class MemoryBook {
  // Memory that init containers of one pod leave to its later ones, by the nodes it is on.
  struct Reusable {
    std::string pod{};
    std::vector<MemoryHolding> left{};

    bool operator==(const Reusable&) const = default;
  };
  // Of one NUMA node, what bookings change.
  struct NodeUse {
    NodeMemory free{};
    int assignments = 0;
    NodeSet group{};

    bool operator==(const NodeUse&) const = default;
  };

 public:
  // Of a machine whose memory is nobody's business: no hints, nothing is booked.
  MemoryBook() = default;
  // Fails with kInvalid when more is reserved than there is, naming node and resource.
  static Result<MemoryBook> make(const MemoryInventory& total, const MemoryInventory& reserved);

  bool enabled() const { return !nodes_.empty(); }
  const std::map<NodeId, MemoryNode>& nodes() const { return nodes_; }
  // By pod UID and container name.
  using Pods = std::map<std::string, std::map<std::string, MemoryHolding>>;
  const Pods& pods() const { return pods_; }
  // Null when the container holds nothing.
  const MemoryHolding* find(const std::string& pod_uid, const std::string& container) const;

  // One entry for each resource asked for, all with the same family. When no nodes can
  // hold the request it does not care, as in the kubelet: allocate() will refuse it.
  std::vector<ResourceHints> hints(const Pod& pod, const Container& container,
                                   const PodGates& gates) const;
  // The same for all containers of the pod together.
  std::vector<ResourceHints> pod_hints(const Pod& pod, const PodGates& gates) const;

  // Books the container's memory on the nodes of `hint` and further ones, where these do
  // not suffice; without any, on the fewest that do. The nodes are filled from the lowest
  // up. What it holds afterwards; a container that holds memory already keeps it.
  //
  // Fails with kExhausted when there is no room and kConflict when the nodes of the hint
  // serve different groups; nothing is booked then.
  Result<MemoryHolding> allocate(const Pod& pod, const Container& container, const Hint& hint,
                                 const PodGates& gates);

  // Books again what a container held before a restart. A container that holds memory
  // already keeps it.
  //
  // Fails with kNotFound when the machine lacks a node of it; nothing is booked then.
  Result<void> restore(const std::string& pod_uid, const std::string& container,
                       const MemoryHolding& holding);

  // The pod is complete: no later container of it takes over memory any more.
  void settle() { reusable_ = {}; }

  // Gives back what all containers of the pod hold. An unknown pod is no error.
  void release(const std::string& pod_uid);

  // Everything that allocate(), settle() and release() for one pod may change: what the pod
  // holds, what it leaves to its later containers, and what is free on each NUMA node. The cost
  // follows the number of NUMA nodes, not that of other pods.
  struct PodPart {
    std::optional<std::map<std::string, MemoryHolding>> holdings{};  // by container
    Reusable reusable{};
    std::vector<NodeUse> nodes{};  // in the order of nodes()

    bool operator==(const PodPart&) const = default;
  };
  PodPart part_of(const std::string& pod_uid) const;
  // The book as it was when part_of() gave this part, if only decisions about this pod have been
  // made since, or the others have been put back in reverse order.
  void put_back(const std::string& pod_uid, const PodPart& part);

  bool operator==(const MemoryBook&) const = default;

 private:
  // Of all nodes named.
  std::int64_t amount(const NodeSet& nodes, NodeMemory MemoryNode::*kind,
                      const std::string& resource) const;
  std::int64_t reusable(const std::string& pod, const NodeSet& nodes,
                        const std::string& resource) const;
  Need need(const NodeSet& nodes, NodeMemory MemoryNode::*kind, const std::string& resource,
            std::int64_t bytes) const;
  bool suffice(const NodeSet& nodes, const NodeMemory& request) const;
  bool keep_groups(const NodeSet& nodes) const;
  bool can_hold(const std::string& pod, const NodeSet& nodes, const NodeMemory& request) const;
  // All sets that can hold the request; no value: there is none.
  std::optional<HintFamily> family(const std::string& pod, const NodeMemory& request) const;
  std::vector<ResourceHints> hints_for(const std::string& pod, const NodeMemory& request) const;
  Result<NodeSet> choose(const std::string& pod, const NodeMemory& request, const Hint& hint) const;
  void book(const NodeSet& nodes, const std::string& resource, std::int64_t bytes);
  void unbook(const NodeSet& nodes, const std::string& resource, std::int64_t bytes);
  void leave_or_take(const std::string& pod, Container::Kind kind, const MemoryHolding& holding);
  void shorten_earlier(const Pod& pod, const Container& container, const MemoryHolding& holding);

  std::map<NodeId, MemoryNode> nodes_{};
  Pods pods_{};
  Reusable reusable_{};
};

}  // namespace corehold
