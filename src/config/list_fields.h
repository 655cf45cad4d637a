// SPDX-License-Identifier: Apache-2.0
//
// The fields of CoreholdConfiguration that are lists of objects: devices and memory. Each
// has a function that reads it and one that describes its inner fields.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/field.h"

namespace corehold {

void read_devices(const Node& node, Config& config, Reading& reading);
void describe_devices(const std::string& path, std::vector<FieldLine>& lines);

void read_memory(const Node& node, Config& config, Reading& reading);
void describe_memory(const std::string& path, std::vector<FieldLine>& lines);

// The number of a NUMA node.
void read_numa_node(const Node& node, int& into, Reading& reading);

}  // namespace corehold
