// SPDX-License-Identifier: Apache-2.0
//
// ForeignTurn: the foreign half of one step() under way, and the placing half that it drives.
// Inside the manager only.
#pragma once

#include "manager/foreign/foreign_state.h"
#include "manager/placing/placing_turn.h"
#include "manager/turn.h"

namespace corehold {

struct ForeignTurn : Turn {
  ForeignState& foreign;
  PlacingTurn& placing;
};

// Null when there is none.
ForeignPod* find_pod(ForeignState& foreign, const std::string& uid);
ForeignContainer* find_container(ForeignState& foreign, const ContainerRef& ref);

}  // namespace corehold
