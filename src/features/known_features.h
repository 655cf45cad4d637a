// SPDX-License-Identifier: Apache-2.0
//
// The features that exist: the nine of Kubernetes 1.37, and the two of Corehold.
#pragma once

#include <string_view>

#include "features/registry.h"

namespace corehold {

inline constexpr std::string_view kExclusiveCpusFeature = "InPlacePodVerticalScalingExclusiveCPUs";
inline constexpr std::string_view kAssignedResourcesFeature = "DownwardAPIAssignedResources";

// What a kube-scheduler, kube-apiserver and kubelet 1.37 know.
const Registry& kubernetes_registry();

// The same and Corehold's own: InPlacePodVerticalScalingExclusiveCPUs, which an update
// needs that changes how many CPUs a container has for itself, and
// DownwardAPIAssignedResources, which a pod needs that asks for assigned.cpuset or
// assigned.memset.
const Registry& extension_registry();

}  // namespace corehold
