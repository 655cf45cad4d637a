// SPDX-License-Identifier: Apache-2.0
//
// The memory of a machine by NUMA node and kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/id.h"

namespace corehold {

// Bytes by resource name as Kubernetes spells it: "memory" (without what huge pages
// take), "hugepages-2Mi", "hugepages-1Gi".
using NodeMemory = std::map<std::string, std::int64_t>;
using MemoryInventory = std::map<NodeId, NodeMemory>;

}  // namespace corehold
