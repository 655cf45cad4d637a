// SPDX-License-Identifier: Apache-2.0
//
// Watches that nobody loses CPUs untold. It decides nothing: it keeps its own book of what
// files have listed and until when, and holds each answer of the runtime against it, so that
// a mistake in what decides shows in corehold_told_after_taken_total.
#pragma once

#include "manager/placing/placing_turn.h"

namespace corehold {

// The pod's files say this from now on; or it is not known whether they do.
void watch_files(const PlacingTurn& turn, PlacedPod& pod, const AssignedByContainer& written);
void watch_failed_files(PlacedPod& pod, const AssignedByContainer& tried);

// The runtime is asked to set the container's CPUs.
void watch_asked(const PlacingTurn& turn, PlacedContainer& state);

// The runtime has set them, or may have. Counts it, if CPUs of its own have gone that its
// files may still list, or that they have not ceased to list for the whole delay when the
// runtime was asked. What was offline then is nobody's.
void watch_taken(PlacingTurn& turn, const ContainerRef& ref, const PlacedContainer& state,
                 const CpuSet& cpus);

// It runs where it is confirmed to.
void watch_placed(const PlacingState& placing, const ContainerRef& ref, PlacedContainer& state);

}  // namespace corehold
