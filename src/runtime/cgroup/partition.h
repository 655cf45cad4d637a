// SPDX-License-Identifier: Apache-2.0
//
// Isolated partitions of cgroup v2: CPUs on which the kernel balances no load and which no other
// cgroup has. Linux 6.7 lets any cgroup become one, wherever it is in the tree ("remote"), once its
// CPUs are in cpuset.cpus.exclusive of the cgroup and of all above it. Earlier kernels would need
// every cgroup above to be a partition and would overwrite the affinity of kernel threads for
// good: there partitions are refused.
//
// Calls for cgroups with a common ancestor must not overlap: what an ancestor has is the union of
// what its children have.
#pragma once

#include <string>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold {

// What cpuset.cpus.partition says of a cgroup.
struct PartitionView {
  enum class Kind {
    kMember,    // it is none, or the kernel has no partitions
    kIsolated,  // it is one
    kInvalid,   // it was made one, and somebody's later write has ended that
  };
  Kind kind = Kind::kMember;
  // "member", "isolated", "isolated invalid (Cpu list in cpuset.cpus not exclusive)"
  std::string text = "member";

  bool operator==(const PartitionView&) const = default;
};

// Whether the kernel behind this mount point of cgroup v2 has remote partitions.
bool has_partitions(const std::string& mount);

PartitionView read_partition(const std::string& cgroup);

// The file that is polled (POLLPRI) to learn of a change.
std::string partition_file(const std::string& cgroup);

// Makes the cgroup `path`, below `mount`, an isolated partition of these CPUs, or gives the
// partition that it is these CPUs. kUnsupported: the kernel lets it be no valid partition, for the
// reason that the message has; it is a cgroup like others with these CPUs then. REQUIRES:
// has_partitions(mount).
Result<void> set_partition(const std::string& mount, const std::string& path, const CpuSet& cpus);

// Makes it a cgroup like others, with the CPUs that it has. One that is none is no error.
Result<void> end_partition(const std::string& mount, const std::string& path);

// After a cgroup with a partition was removed: the cgroups above it, as far as they exist, have no
// exclusive CPUs but those of their children.
void forget_partition(const std::string& mount, const std::string& path);

}  // namespace corehold
