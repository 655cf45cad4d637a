// SPDX-License-Identifier: Apache-2.0
//
// Whether a pod that is there is the pod that is asked for.
#pragma once

#include <string>

#include "pod/pod.h"

namespace corehold {

// The first field in which `wanted` asks for something else than `there` has, such as
// "spec.containers" or "metadata.labels"; empty when it does not. What a node adds to a pod
// (its name, the status, times) is no difference, nor is another spelling of an amount.
// REQUIRES: both have the API's defaults.
std::string difference_between(const Pod& there, const Pod& wanted);

}  // namespace corehold
