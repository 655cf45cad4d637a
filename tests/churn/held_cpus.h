// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that containers hold, as cgroup v2 says and as the agent says, and where the two or the
// containers among themselves disagree. Reading is by the caller's folder, so that a test can make
// one.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold::proof {

// A container with CPUs of its own.
struct Held {
  std::string container{};  // "UID/NAME"
  CpuSet cpus{};

  bool operator==(const Held&) const = default;
};

struct HeldCpus {
  std::vector<Held> exclusive{};  // by container
  CpuSet shared{};                // of all others; empty where there are none

  bool operator==(const HeldCpus&) const = default;
};

// Of the containers below `folder` ("pods/UID/NAME", "shared") that have processes. Read twice,
// until both are the same: containers come and go meanwhile. Fails with kConflict when they never
// are.
Result<HeldCpus> held_in_cgroups(const std::string& folder);

// Of the agent's answer to GET cpus. Fails with kInvalid when that is not one.
Result<HeldCpus> held_in_map(const boost::json::value& map);

// A line for each CPU that two containers have, or a container and the shared ones.
std::vector<std::string> doubles(const HeldCpus& held);

// A line for each container that runs on other CPUs than the agent says. Containers that the
// machine has no processes of are none: they may be about to start, or waiting to be restarted.
std::vector<std::string> differences(const HeldCpus& machine, const HeldCpus& agent);

}  // namespace corehold::proof
