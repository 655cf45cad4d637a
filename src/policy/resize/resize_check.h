// SPDX-License-Identifier: Apache-2.0
//
// What a resize must be, whatever is free on the node: the causes of Infeasible that come
// from the pod, its promised CPUs and the configuration.
#pragma once

#include <optional>

#include "policy/resize/resize.h"

namespace corehold {

// No value: nothing stands in the way. `terms`: null when the policy gives no exclusive
// CPUs.
std::optional<ResizeRefusal> check_resize(const AdmissionRules& rules, const ResizeGates& gates,
                                          const ResizeTerms* terms, const Bookings& bookings,
                                          const Pod& now, const Pod& wanted);

}  // namespace corehold
