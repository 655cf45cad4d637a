// SPDX-License-Identifier: Apache-2.0
//
// Topology: which CPUs a machine has and how they hang together (cores, L3
// caches, NUMA nodes, sockets, distances), and the questions one may ask of it.
// An immutable value. Ids are OS numbers and may have gaps; nothing assumes that
// cores, caches, nodes or sockets are of equal size, or that sockets contain
// NUMA nodes rather than the other way round.
#pragma once

#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "topology/memory_inventory.h"

namespace corehold {

// Where one CPU sits.
struct CpuPlace {
  CpuId cpu;
  CoreId core;
  SocketId socket;
  NodeId node;
  UncoreId uncore;

  bool operator==(const CpuPlace&) const = default;
};

// A row of NUMA distances as the firmware gives them: 10 is local.
struct DistanceRow {
  NodeId from;
  std::vector<std::pair<NodeId, int>> to;

  bool operator==(const DistanceRow&) const = default;
};

// What a Topology is made of. Only `places` is needed.
struct TopologyParts {
  std::vector<CpuPlace> places{};        // any order
  NodeSet memory_nodes{};                // NUMA nodes without CPUs
  std::vector<DistanceRow> distances{};  // empty: 10 to itself, 20 to any other
  CpuSet isolated{};                     // kept out of the scheduler's balancing (isolcpus)
  CpuSet nohz_full{};                    // without a tick while one task runs there (nohz_full)
  CpuSet without_l3{};                   // their uncore stands in for an L3 cache they lack
  MemoryInventory memory{};              // empty: not known
};

// A position in one of Topology's lists, which are ascending by id.
using Slot = int;

struct Core {
  CoreId id;
  std::vector<CpuId> cpus;  // ascending
  Slot socket;
  Slot node;
  Slot uncore;

  int size() const { return static_cast<int>(cpus.size()); }
};

// A socket, NUMA node or uncore: an L3 cache, or what stands in for one. The lists of slots are
// ascending and name everything that shares a CPU with it.
template <typename IdType>
struct Domain {
  IdType id;
  CpuSet cpus;
  int size = 0;
  std::vector<Slot> sockets;
  std::vector<Slot> nodes;
  std::vector<Slot> uncores;
  std::vector<Slot> cores;
};

class Topology {
 public:
  // Fails with kInvalid when there is no CPU, a CPU appears twice, a number is out
  // of range, a core spans two sockets, NUMA nodes or L3 caches, or an uncore is an L3
  // cache for only some of its CPUs.
  static Result<Topology> make(TopologyParts parts);

  const CpuSet& cpus() const { return cpus_; }
  int cpu_count() const { return static_cast<int>(places_.size()); }
  const CpuSet& isolated() const { return isolated_; }
  // CPUs that the kernel's command line has made quieter than others: isolated or nohz_full.
  CpuSet quiet() const { return isolated_ | nohz_full_; }
  const CpuSet& without_l3() const { return without_l3_; }

  const std::vector<CpuPlace>& places() const { return places_; }  // ascending by CPU
  const std::vector<Core>& cores() const { return cores_; }
  const std::vector<Domain<UncoreId>>& uncores() const { return uncores_; }
  std::vector<Slot> l3_caches() const;  // of the uncores that are L3 caches
  const std::vector<Domain<NodeId>>& nodes() const { return nodes_; }  // those with CPUs
  const std::vector<Domain<SocketId>>& sockets() const { return sockets_; }
  const NodeSet& memory_nodes() const { return memory_nodes_; }
  // What every NUMA node, with or without CPUs, has of its own. Nodes of which nothing is
  // known are missing.
  const MemoryInventory& memory() const { return memory_; }

  // REQUIRES: cpus().contains(cpu).
  const CpuPlace& place(CpuId cpu) const;
  Slot core_of(CpuId cpu) const { return core_of_[static_cast<std::size_t>(cpu.value)]; }

  const Core& core(Slot slot) const { return cores_[static_cast<std::size_t>(slot)]; }
  const Domain<UncoreId>& uncore(Slot slot) const {
    return uncores_[static_cast<std::size_t>(slot)];
  }
  // Whether the uncore is an L3 cache of the machine rather than a stand-in for one.
  bool is_l3(Slot slot) const { return !uncore(slot).cpus.intersects(without_l3_); }
  const Domain<NodeId>& node(Slot slot) const { return nodes_[static_cast<std::size_t>(slot)]; }
  const Domain<SocketId>& socket(Slot slot) const {
    return sockets_[static_cast<std::size_t>(slot)];
  }

  // CPUs of the nodes named; an id the machine does not have adds nothing.
  CpuSet cpus_in(const NodeSet& nodes) const;
  // NUMA nodes that hold at least one of `cpus`; CPUs the machine lacks are ignored.
  NodeSet nodes_of(const CpuSet& cpus) const;
  // `cpus` and every sibling on the same cores.
  CpuSet whole_cores_touching(const CpuSet& cpus) const;
  // The cores lying entirely inside `cpus`, and how many they are.
  CpuSet whole_cores_within(const CpuSet& cpus) const;
  int count_whole_cores(const CpuSet& cpus) const;

  // CPUs on the largest core: 2 on an ordinary SMT machine.
  int threads_per_core() const { return threads_per_core_; }
  bool cores_are_alike() const { return cores_are_alike_; }
  // All cores, all sockets and all uncores have the same number of CPUs.
  bool is_regular() const { return is_regular_; }

  // Between two NUMA nodes, 10 being local; 10 or 20 where the firmware says nothing.
  int distance(NodeId from, NodeId to) const;
  const std::vector<DistanceRow>& distances() const { return distances_; }

 private:
  Topology() = default;

  CpuSet cpus_;
  CpuSet isolated_;
  CpuSet nohz_full_;
  CpuSet without_l3_;
  NodeSet memory_nodes_;
  std::vector<CpuPlace> places_;
  std::vector<Core> cores_;
  std::vector<Domain<UncoreId>> uncores_;
  std::vector<Domain<NodeId>> nodes_;
  std::vector<Domain<SocketId>> sockets_;
  std::vector<Slot> core_of_;   // by CPU number; -1 where there is no such CPU
  std::vector<Slot> place_of_;  // the same, into places_
  std::vector<DistanceRow> distances_;
  MemoryInventory memory_;
  int threads_per_core_ = 1;
  bool cores_are_alike_ = true;
  bool is_regular_ = true;
};

}  // namespace corehold
