// SPDX-License-Identifier: Apache-2.0
//
// The features that exist: the nine of Kubernetes 1.37, and the two of Corehold.
#pragma once

#include <string_view>

#include "features/registry/registry.h"

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

// Whether it is one of Corehold's own, which no kubelet 1.37 declares.
bool is_corehold_feature(std::string_view name);

// What a node asks for when a pod comes to it, of what the pod needs.
// DownwardAPIAssignedResources is not among it: a node writes such files with its gate off
// too; only who chooses among nodes asks.
FeatureSet asked_at_admission(const Registry& registry, const FeatureSet& required);

}  // namespace corehold
