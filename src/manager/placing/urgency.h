// SPDX-License-Identifier: Apache-2.0
//
// The order in which resizes that wait are decided on.
#pragma once

#include "manager/placing/placing_state.h"
#include "pod/qos.h"

namespace corehold {

// Whether the resize of `one` comes before that of `two`: what has been granted and is to be
// finished before what is only wished for; then by priority, by QoS class (Guaranteed,
// Burstable, BestEffort), by how long it has waited, and by when the pod was created. A
// strict total order of the pods of a node.
bool is_more_urgent(const PlacedPod& one, const PlacedPod& two, const PodGates& gates);

}  // namespace corehold
