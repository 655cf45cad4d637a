// SPDX-License-Identifier: Apache-2.0
//
// Placement: where a container may run and how much it may use there. Assigned: what a
// container is told about its own CPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cpuset/cpu_set.h"
#include "pod/quiet_request.h"

namespace corehold {

// How much CPU time and memory a container gets where it runs, and how quiet it is there.
struct Limits {
  int cpu_shares = 2;             // weight, as cgroup v1 counts it: 1024 for one CPU
  std::int64_t quota = 0;         // thousandths of a CPU; 0: none
  std::int64_t memory_limit = 0;  // bytes; 0: none
  // Of its own CPUs; a container that shares has none.
  CpuPartition partition = CpuPartition::kNone;

  bool operator==(const Limits&) const = default;
};

// Whose the CPUs of a placement are.
enum class CpuOwner {
  kContainer,   // its own, or nobody's
  kSharedPool,  // of all containers that share: where the pool goes the container follows
};

struct Placement {
  CpuSet cpus{};                  // empty: not confined (policy none)
  std::optional<NodeSet> mems{};  // no value: memory is not pinned
  Limits limits{};
  CpuOwner owner = CpuOwner::kContainer;

  bool operator==(const Placement&) const = default;
};

// The CPUs that a container is told are its own, and their NUMA nodes.
struct Assigned {
  CpuSet cpus{};  // empty: the container has no CPUs of its own
  NodeSet mems{};

  bool operator==(const Assigned&) const = default;
};
using AssignedByContainer = std::map<std::string, Assigned>;

}  // namespace corehold
