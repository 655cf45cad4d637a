// SPDX-License-Identifier: Apache-2.0
//
// The devices of a machine and the NUMA nodes they are near.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cpuset/cpu_set.h"

namespace corehold {

struct Device {
  std::string id{};
  NodeSet nodes{};  // the NUMA nodes it is near; empty: unknown

  bool operator==(const Device&) const = default;
};

// Devices by resource name: "example.com/nic".
using DeviceInventory = std::map<std::string, std::vector<Device>>;

}  // namespace corehold
