// SPDX-License-Identifier: Apache-2.0
//
// What a refusal says beyond the kubelet's text: what was asked, what is free where, and
// who holds the rest, by the names that the rules have for pods.
#pragma once

#include <string>

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
// For each resource the NUMA nodes that could hold it alone, or how many it would take
// now and on an idle machine; then what is free and who holds the rest, as far as it is
// about CPUs.
// `container`: null for the pod as a whole.
std::string topology_detail(const AdmissionRules& rules, const Bookings& bookings, const Pod& pod,
                            const Container* container, const Alignment& alignment);

}  // namespace corehold
