// SPDX-License-Identifier: Apache-2.0
//
// Keeping running containers where the checkpoint says they belong: containers with CPUs of their
// own each by itself, all others together as the shared pool.
#pragma once

#include "manager/command.h"
#include "manager/placing/placing_turn.h"

namespace corehold {

void on_cpuset_applied(PlacingTurn& turn, const CpusetApplied& command);
void on_cpuset_failed(PlacingTurn& turn, const CpusetFailed& command);
void on_shared_cpus_applied(PlacingTurn& turn, const SharedCpusApplied& command);
void on_shared_cpus_failed(PlacingTurn& turn, const SharedCpusFailed& command);

// Puts the pool where it belongs, if anything is in it or about to start there. Whether it is
// there.
bool settle_pool(PlacingTurn& turn);

// Sets the CPUs of every container that is not where it belongs; those that share first, so that
// they have left before others come.
void set_cpusets(PlacingTurn& turn);

}  // namespace corehold
