// SPDX-License-Identifier: Apache-2.0
//
// Keeping the rest of the machine off the CPUs that containers hold. The order of a grant:
// checkpoint saved, shared containers away, fence confirmed, then the container's own CPUs. Given
// back is in reverse: the container is off its CPUs, the checkpoint that frees them is saved, and
// only then the fence opens. A fence that fails, or that cannot keep everything away, does not stop
// the node: what stays is named.
#pragma once

#include "manager/command.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

// Whether the rest of the machine has been asked off these CPUs, and the answer has come.
bool is_fenced(const ManagerRules& rules, const PlacingState& placing, const CpuSet& cpus);

// Asks for the fence that the checkpoint wants, unless it is there.
void settle_fence(PlacingTurn& turn);
// Has it looked for again what has come since, and tries again to give back what could not be.
void recheck_fence(PlacingTurn& turn);

void on_isolated(PlacingTurn& turn, const Isolated& command);
void on_isolate_failed(PlacingTurn& turn, const IsolateFailed& command);

// What is said of things that are not kept away, for people: "a (why); b (why)".
std::string leftovers_text(const std::vector<Leftover>& leftovers);
// The same with the CPUs it is about: "not kept off CPUs 2-3: a (why)".
std::string intruders_text(const CpuSet& held, const std::vector<Leftover>& leftovers);

}  // namespace corehold
