// SPDX-License-Identifier: Apache-2.0
//
// Accumulator: the free CPUs of a machine counted at every level, and the steps
// by which CPUs are taken from them: whole NUMA nodes and sockets, whole L3
// caches or the part of one, whole cores, single CPUs. Smallest free part first,
// so that large ones stay whole; ties go to the lowest id.
#pragma once

#include <vector>

#include "alloc/take.h"
#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

class Accumulator {
 public:
  // CPUs the machine does not have are left out. `topology` must outlive this.
  Accumulator(const Topology& topology, const CpuSet& available);

  // Takes up to `count` CPUs, packed: everything whole that fits, then the rest.
  // Returns what it took; fewer than `count` only when no more are free.
  CpuSet take_packed(int count, CpuOrder order, bool prefer_uncore);

  // The same, but as many whole cores as can be had, small ones first; for machines
  // whose cores differ in size.
  CpuSet take_most_whole_cores(int count);

  // Exactly `count` CPUs in whole cores, of these as many as can be had. Empty when
  // the free whole cores do not add up to `count`.
  CpuSet take_exact_whole_cores(int count);

  int free_in_node(Slot node) const { return at(node_free_, node); }

  // NUMA nodes with free CPUs in the order in which they are considered: by the free
  // CPUs of what encloses them (sockets on most machines), then by their own.
  std::vector<Slot> sorted_nodes() const;

 private:
  using Counts = std::vector<int>;

  static int at(const Counts& counts, Slot slot) { return counts[static_cast<std::size_t>(slot)]; }
  bool is_satisfied() const { return needed_ < 1; }

  void take_cpu(CpuId cpu);
  template <typename Cpus>
  void take_all(const Cpus& cpus);

  // Most machines have NUMA nodes inside sockets; some have it the other way round.
  bool nodes_enclose_sockets() const;
  std::vector<Slot> sorted_sockets() const;
  // Calls visit(core) for cores with free CPUs, in order, until satisfied.
  template <typename Visit>
  void visit_cores(Visit visit);
  template <typename Visit>
  void visit_cores_of(const std::vector<Slot>& cores, Visit visit);

  void take_full_nodes();
  void take_full_sockets();
  void take_uncores();
  void take_part_of_uncore(Slot uncore);
  void take_full_cores();
  void take_full_cores_of_size(int size, int most);
  void take_single_cpus(CpuOrder order);

  const Topology& topology_;
  CpuSet free_;
  CpuSet taken_{};
  int needed_ = 0;
  Counts core_free_;
  Counts uncore_free_;
  Counts node_free_;
  Counts socket_free_;
};

}  // namespace corehold
