// SPDX-License-Identifier: Apache-2.0
//
// The two sets the whole project speaks in: CpuSet (CPUs of a machine, up to
// 4,096) and NodeSet (NUMA nodes, up to 64). See id_set.h for what they can do.
#pragma once

#include "base/id.h"
#include "cpuset/id_set.h"

namespace corehold {

inline constexpr int kMaxCpus = 4096;
inline constexpr int kMaxNodes = 64;

using CpuSet = IdSet<CpuId, kMaxCpus>;
using NodeSet = IdSet<NodeId, kMaxNodes>;

// Instantiated once, in cpu_set.cc.
extern template class IdSet<CpuId, kMaxCpus>;
extern template class IdSet<NodeId, kMaxNodes>;

}  // namespace corehold
