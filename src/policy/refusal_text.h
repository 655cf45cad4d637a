// SPDX-License-Identifier: Apache-2.0
//
// What a refusal says beyond the kubelet's text: what was asked, what is free where, and
// who holds the rest, by the names that the rules have for pods.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/admission.h"

namespace corehold {

// "container main of pod db/pg-1: ", or "pod db/pg-1: " without one.
std::string whose(const Pod& pod, const Container* container);

// "free CPUs: 8-15; held by u-1 main 0-7"
std::string cpu_detail(const AdmissionRules& rules, const Bookings& bookings,
                       const CpuSet& candidates);
// The request, what is free on every NUMA node, and the holders.
std::string memory_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const NodeMemory& request);
// For each resource that the container asks for, those free and those held.
std::string device_detail(const AdmissionRules& rules, const Bookings& bookings,
                          const Container& container);
// The policy, and for each resource the NUMA nodes that could hold it alone, or how many it
// would take now and on an idle machine. `required`: why some nodes must be among them.
std::string alignment_detail(const AdmissionRules& rules, const Pod& pod,
                             const Container* container, const Alignment& alignment,
                             std::string_view required);
// "db/pg-0 main 2-5, web/gw envoy 6-7": all that the pods with these UIDs hold.
std::string cpu_holders(const AdmissionRules& rules, const State& state,
                        const std::vector<std::string>& pods);
// "none" for an empty list.
std::string list_or_none(const std::string& list);

// For each resource the NUMA nodes that could hold it alone, or how many it would take
// now and on an idle machine; then what is free and who holds the rest, as far as it is
// about CPUs.
// `container`: null for the pod as a whole.
std::string topology_detail(const AdmissionRules& rules, const Bookings& bookings, const Pod& pod,
                            const Container* container, const Alignment& alignment);

}  // namespace corehold
