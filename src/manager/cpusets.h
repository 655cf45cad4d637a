// SPDX-License-Identifier: Apache-2.0
//
// Keeping running containers where the checkpoint says they belong.
#pragma once

#include "manager/turn.h"

namespace corehold {

void on_cpuset_applied(Turn& turn, const CpusetApplied& command);
void on_cpuset_failed(Turn& turn, const CpusetFailed& command);

// Sets the CPUs of every container that is not where it belongs; those that share first,
// so that they have left before others come.
void set_cpusets(Turn& turn);

}  // namespace corehold
