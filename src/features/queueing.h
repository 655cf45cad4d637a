// SPDX-License-Identifier: Apache-2.0
//
// Queueing hints: whether something that happened is a reason to try a waiting pod again,
// a pod that declared features kept off every node. Unlike kube-scheduler 1.37, a change
// of a node that still lacks something is no reason.
#pragma once

#include <optional>

#include "base/result.h"
#include "features/registry/registry.h"

namespace corehold {

enum class QueueHint { kQueue, kSkip };

// All fail with kConflict for sets of two registries.

// kQueue when the new node has all that the pod needs.
Result<QueueHint> hint_node_added(const FeatureSet& required, const FeatureSet& declared);

// kQueue when the node has all that the pod needs now, and had not before.
Result<QueueHint> hint_node_changed(const FeatureSet& required, const FeatureSet& declared_before,
                                    const FeatureSet& declared_now);

// kQueue when the pod needs other features than before. Fails without a target version,
// as Registry::infer_for_scheduling().
Result<QueueHint> hint_pod_changed(const Registry& registry, const Pod& old_pod, const Pod& new_pod,
                                   const std::optional<Version>& target);

}  // namespace corehold
