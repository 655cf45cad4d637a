// SPDX-License-Identifier: Apache-2.0
//
// Resize by topology: which CPUs a container has after it grows or shrinks in place. Pure
// functions of their arguments. Both are one question: which `count` CPUs, out of some
// that must be in it and others that may be, lie best? In this order:
//
// 1. on as few NUMA nodes as can be; with align_by_socket on as few sockets before that.
//    The nodes of the CPUs that must stay are in it anyway: no other comes in while these
//    have room;
// 2. with across_numa split as evenly over these nodes as the CPUs that stay allow;
// 3. on nodes near each other (sum of their distances), then on few sockets;
// 4. inside them: cores that are there in part are completed (unless CPUs are spread),
//    with prefer_uncore L3 caches that are there in part are filled, then as
//    take_by_topology takes, from the nodes that have CPUs already before new ones.
//
// Ties go to the lowest id.
#pragma once

#include "alloc/take.h"

namespace corehold {

struct ResizeOptions {
  TakeOptions take{};
  bool whole_cores = false;  // full-pcpus-only: nothing but whole cores
};

// All of `assigned`, and what is missing to `count` out of `free`.
//
// Fails with kExhausted when too few are free, kUnaligned when whole cores are asked for
// and do not add up to `count`, and kInvalid when more than `count` are assigned, an
// assigned CPU is not the machine's, or groups have no size.
Result<CpuSet> grow_by_topology(const Topology& topology, const CpuSet& assigned,
                                const CpuSet& free, int count, const ResizeOptions& options);

// `count` CPUs out of `assigned`, among them all of `promised`. What others hold does not
// matter, nor how `assigned` has come about.
//
// Fails with kUnaligned when whole cores are asked for and do not add up to `count`, and
// kInvalid when `count` is less than promised or more than assigned, or promised is no
// subset of assigned.
Result<CpuSet> shrink_by_topology(const Topology& topology, const CpuSet& assigned,
                                  const CpuSet& promised, int count, const ResizeOptions& options);

}  // namespace corehold
