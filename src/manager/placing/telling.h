// SPDX-License-Identifier: Apache-2.0
//
// Telling containers which CPUs are their own: the files of their pods.
#pragma once

#include "manager/command.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

void on_podinfo_written(PlacingTurn& turn, const PodInfoWritten& command);

// Has the files of the pod written if they do not say what they should.
void tell_pod(PlacingTurn& turn, const std::string& uid, PlacedPod& pod);

}  // namespace corehold
