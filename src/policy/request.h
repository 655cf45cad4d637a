// SPDX-License-Identifier: Apache-2.0
//
// From a pod to what the policy is asked: one Request per container.
#pragma once

#include <optional>

#include "pod/pod.h"
#include "pod/qos.h"
#include "policy/policy.h"

namespace corehold {

// REQUIRES: `container` is one of the pod's.
Request request_of(const Pod& pod, const Container& container,
                   const std::optional<NodeSet>& affinity, const PodGates& gates);

}  // namespace corehold
