// SPDX-License-Identifier: Apache-2.0
//
// The answers of the kubelet's podresources API: which containers hold which CPUs, memory and
// devices, and what the node has to give.
#pragma once

#include <functional>
#include <string>

#include "agent/metrics/metrics.h"
#include "agent/podresources/pod_resources_session.h"
#include "manager/node_state.h"
#include "node/node_setup.h"

namespace corehold {

// Pods that hold what they need and have not ended, sorted by namespace and name. As in the
// kubelet, of init containers only sidecars are told, and a device is told once for each
// NUMA node it is near.
void list_pod_resources(const NodeState& node, v1::ListPodResourcesResponse& answer);

// Fails with kNotFound and the kubelet's text when there is no such pod. A pod that waits has no
// resources yet.
Result<void> get_pod_resources(const NodeState& node, const std::string& namespace_name,
                               const std::string& name, v1::GetPodResourcesResponse& answer);

// The machine less what is reserved, held by containers or free. No CPUs with policy none, which
// gives out none.
void get_allocatable_resources(const NodeState& node, const NodeSetup& setup,
                               v1::AllocatableResourcesResponse& answer);

// All three, counted. `setup` and `metrics` must outlive the source.
PodResourcesSource pod_resources_source(const std::function<const NodeState&()>& node,
                                        const NodeSetup& setup, Metrics& metrics);

}  // namespace corehold
