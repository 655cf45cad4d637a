// SPDX-License-Identifier: Apache-2.0
//
// A resize that was accepted, on its way: who shrinks is told, given the delay and moved, the
// CPUs go to those that grow, and it is complete when every container has what it was granted.
#pragma once

#include "manager/turn.h"

namespace corehold {

// Starts the delay of every shrink that has been told and not been delayed. Whether one needs
// none and is due at once.
bool delay_shrinks(Turn& turn);
void on_delay_timer(Turn& turn, const ContainerRef& ref);

// Takes CPUs back that containers have left after they were told to. Not while the
// checkpoint is being written.
void finish_shrinks(Turn& turn);

// Ends the resizes of which nothing is left to do.
void complete_resizes(Turn& turn);

}  // namespace corehold
