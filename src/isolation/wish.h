// SPDX-License-Identifier: Apache-2.0
//
// What isolation is asked for: which CPUs are held by containers, and from what they are kept free.
#pragma once

#include "cpuset/cpu_set.h"
#include "isolation/level.h"

namespace corehold {

struct IsolationWish {
  IsolationLevel level = IsolationLevel::kContainers;
  CpuSet online{};
  CpuSet held{};  // CPUs that containers hold exclusively

  // Where everything else of the machine may run. Never empty: the shared pool is part of it.
  CpuSet rest() const { return online - held; }

  bool operator==(const IsolationWish&) const = default;
};

}  // namespace corehold
