// SPDX-License-Identifier: Apache-2.0
//
// The walk through a tree of cgroups of containers (container_cgroup.h) for those that no record
// names.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/live_container.h"

namespace corehold {

struct CgroupTree {
  std::string base{};  // the top cgroup
  // The cgroups below it in which those of pods are; "": the top one itself.
  std::vector<std::string> tops{};
  std::string threads{};  // the control file that names threads
  std::string cpus{};     // the control file with the CPUs that count
  // Removes an empty cgroup, in every hierarchy; false: it has processes after all. Null: empty
  // cgroups are left alone.
  std::function<Result<bool>(const std::string& cgroup)> remove{};
};

// Confinement::unknown().
Result<std::vector<LiveContainer>> unknown_cgroups(const CgroupTree& tree,
                                                   const std::set<std::string>& known);

}  // namespace corehold
