// SPDX-License-Identifier: Apache-2.0
//
// Nodes and pods for tests of resizes. Every resize is checked: a refusal changes nothing,
// and nothing is wrong with the bookings afterwards.
#pragma once

#include <string>
#include <string_view>

#include "policy/admission_testing.h"

namespace corehold {

// REQUIRES: options that suit the machine; `reserved` is a list of its CPUs.
AdmittingNode resize_node(Topology topology, const StaticOptions& options,
                          std::string_view reserved, const TopologyOptions& alignment = {});
// The machine of the worked example: CPUs 0-5 on NUMA node 0, 6-11 on node 1, siblings side
// by side, CPU 11 reserved.
AdmittingNode kep_node(const TopologyOptions& alignment, const StaticOptions& options = {});

// One container "main", or "c1" and "c2", with so many CPUs and 1Gi of memory each.
Pod one(std::string_view name, int cpus);
Pod two(std::string_view name, int c1, int c2);

// What came of it, as text.
std::string admitted(AdmittingNode& node, const Pod& pod);
// Shrinks are applied at once.
std::string resized(AdmittingNode& node, const Pod& wanted);

}  // namespace corehold
