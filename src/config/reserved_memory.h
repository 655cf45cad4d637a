// SPDX-License-Identifier: Apache-2.0
//
// reservedMemory against the memory that there is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/read_config.h"

namespace corehold {

// "1Gi": bytes with the largest binary suffix that loses nothing.
std::string show_bytes(std::int64_t bytes);

// The path of the item that reserves the resource on the NUMA node, and `inner` after it:
// "reservedMemory[0].numaNode"; "reservedMemory" where no file says so.
std::string reserved_field(const Config& config, NodeId node, const std::string& resource,
                           std::string_view inner);

// One mistake, without a line, for each of `reserved` that exceeds what its node has.
std::vector<ConfigRemark> excess_reservations(const Config& config, const MemoryInventory& reserved,
                                              const MemoryInventory& total);

}  // namespace corehold
