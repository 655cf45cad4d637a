// SPDX-License-Identifier: Apache-2.0
//
// Take by topology: which n of the available CPUs a container should get. A pure
// function of its arguments. Where the kubelet has an answer that is sound, ours
// is the same; sizes of cores, caches and sockets are each one's own, never an
// average over the machine.
#pragma once

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "topology/topology.h"

namespace corehold {

// In which order single CPUs are taken once nothing whole fits any more.
enum class CpuOrder {
  kPacked,  // core by core: fill cores
  kSpread,  // by CPU number within a socket: one thread of each core first
};

struct TakeOptions {
  CpuOrder order = CpuOrder::kPacked;
  // Prefer whole L3 caches, then the part of one, before single cores.
  bool prefer_uncore = false;
  // Split the CPUs evenly over as few NUMA nodes as can hold them.
  bool across_numa = false;
  // across_numa only: give CPUs in groups of this many (threads of a core).
  int group_size = 1;
  // across_numa only: prefer NUMA nodes of one socket.
  bool align_by_socket = false;
};

// What a resize asks beside the count. Both may be empty, as for a new container.
struct Held {
  CpuSet keep{};    // must be in the result
  CpuSet prefer{};  // taken before anything else: the result contains all of it, or,
                    // when it has more than n CPUs, lies inside it
};

// `count` CPUs out of `available`. On a machine whose cores differ in size the answer
// has as many whole cores as any could, unless it is to be spread. A count below one gives the
// empty set. CPUs that the machine does not have are never taken.
//
// Fails with kExhausted when fewer than `count` CPUs are available, and with
// kInvalid when keep or prefer is not a subset of available (and of the machine), keep
// is not a subset of a prefer that is not empty, keep has more than `count` CPUs, or
// groups have no size.
Result<CpuSet> take_by_topology(const Topology& topology, const CpuSet& available, int count,
                                const TakeOptions& options, const Held& held = {});

// Exactly `count` CPUs of `available` in whole cores, or kUnaligned when the whole
// cores there do not add up to that.
Result<CpuSet> take_whole_cores(const Topology& topology, const CpuSet& available, int count);

}  // namespace corehold
