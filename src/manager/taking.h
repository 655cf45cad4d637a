// SPDX-License-Identifier: Apache-2.0
//
// Watches that nobody loses CPUs untold. It decides nothing: it keeps its own book of what
// files have listed and until when, and holds each answer of the runtime against it, so that
// a mistake in what decides shows in corehold_told_after_taken_total.
#pragma once

#include "manager/turn.h"

namespace corehold {

// The pod's files say this from now on; or it is not known whether they do.
void watch_files(const Turn& turn, PodState& pod, const AssignedByContainer& written);
void watch_failed_files(PodState& pod, const AssignedByContainer& tried);

// The runtime is asked to set the container's CPUs.
void watch_asked(const Turn& turn, ContainerState& state);

// The runtime has set them, or may have. Counts it, if CPUs of its own have gone that its
// files may still list, or that they have not ceased to list for the whole delay when the
// runtime was asked. What was offline then is nobody's.
void watch_taken(Turn& turn, const ContainerRef& ref, const ContainerState& state,
                 const CpuSet& cpus);

// It runs where it is confirmed to.
void watch_placed(const NodeState& node, const ContainerRef& ref, ContainerState& state);

}  // namespace corehold
