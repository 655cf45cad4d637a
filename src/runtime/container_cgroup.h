// SPDX-License-Identifier: Apache-2.0
//
// The tree of cgroups in which the process runtime has its containers, below its top cgroup:
//
//   cgroup v2   pods/<pod>/<container>     containers with CPUs of their own, or not confined
//               shared/<pod>/<container>   containers that share: `shared` has their CPUs, and
//                                          one write there moves all of them
//   cgroup v1   <pod>/<container>          all: a cpuset of v1 does not follow its parent's
//
// A container stays where it was started, and the path is on record with the container: version
// 0.1 had all containers of cgroup v2 below `pods`.
#pragma once

#include <string>

#include "container/placement.h"
#include "pod/container_ref.h"
#include "runtime/runtime.h"

namespace corehold {

// Where a container that starts now has its cgroup. Without cgroups the path is of no use.
std::string cgroup_of(const ContainerRef& container, ConfinedBy confined_by, CpuOwner owner);

// The cgroup that has the CPUs of the container in `cgroup`; "": that one itself.
std::string shared_parent_of(const std::string& cgroup, ConfinedBy confined_by);

}  // namespace corehold
