// SPDX-License-Identifier: Apache-2.0
//
// The parts of isolation that machine_plan.h decides about, for the Isolator: interrupts with
// irqbalance (level irqs), and the kernel itself (level full).
#pragma once

#include <vector>

#include "kernel/machine.h"
#include "kernel/parts.h"
#include "kernel/targets.h"

namespace corehold {

// `reader` must outlive them.
std::vector<IsolationPart> machine_parts(MachineReader& reader);

// How irqbalance is told. What it has been told counts as read back: it says so only after its next
// scan.
TargetHandler irqbalance_handler(MachineReader& reader);

}  // namespace corehold
