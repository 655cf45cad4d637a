// SPDX-License-Identifier: Apache-2.0
//
// Reads who is outside Corehold's containers: cgroups v2 beside the containers' on each level of
// the tree, or with cgroup v1 the tasks of the root cpuset and the cpusets that others have made.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "isolation/fence.h"
#include "isolation/pins.h"
#include "kernel/units.h"

namespace corehold {

// The cpuset of v1 that everybody else is moved into, beside the containers' own tree.
inline constexpr const char* kSystemCpuset = "corehold-system";

struct FencePlaces {
  enum class Version { kV1, kV2 };
  Version version = Version::kV2;
  std::string mount{};  // of cgroup v2, or of the cpuset hierarchy of v1
  std::string own{};    // the top cgroup of containers below it: "/corehold"
  std::string proc = "/proc";
  bool has_units = false;                    // systemd owns the cgroups that are called like units
  std::chrono::milliseconds patience{3000};  // until systemd has written the cgroup of a unit
};

// From what Confinement::describe() says (runtime/cgroup/confinement.h). No value: containers are
// not confined by cgroups, and there is no fence.
std::optional<FencePlaces> fence_places(const boost::json::object& confinement);

// A cgroup v2 in which others may be beside us.
struct FenceLevel {
  std::string cgroup{};          // below the mount point; "": that itself
  std::set<std::string> ours{};  // what in it is of containers, or leads to them

  bool operator==(const FenceLevel&) const = default;
};

// From the mount point down to the top cgroup of containers. REQUIRES: version is kV2.
std::vector<FenceLevel> fence_levels(const FencePlaces& places);

struct FenceReading {
  FenceView view{};
  std::vector<ConfinedTask> confined{};  // user tasks whose cgroup the fence changes
  std::vector<Leftover> leftovers{};     // what cannot even be read
};

// Cost follows the number of tasks. Fails when the tasks of the machine cannot be read at all.
Result<FenceReading> read_fence(const FencePlaces& places, Units& units, const CpuSet& online);

}  // namespace corehold
