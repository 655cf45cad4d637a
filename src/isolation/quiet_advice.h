// SPDX-License-Identifier: Apache-2.0
//
// Which settings of the machine a person might change for CPUs that containers hold. They are of
// the whole machine, or a trade of power for time, and so Corehold writes none of them.
#pragma once

#include <string>
#include <vector>

#include "isolation/kernel_facts.h"
#include "isolation/kernel_settings.h"

namespace corehold {

struct QuietAdvice {
  std::string setting{};             // "governor", "kernel.numa_balancing"
  CpuSet cpus{};                     // that it is about; empty: it is not of single CPUs
  std::string now{};                 // "schedutil"
  std::string advised{};             // "performance"
  std::string why{};                 // up to 24 characters, so that it fits beside the others
  std::vector<std::string> files{};  // to write, or the directory to mount at

  bool operator==(const QuietAdvice&) const = default;
};

// What applies to this machine, frequencies first; empty where all is as advised or not known.
std::vector<QuietAdvice> quiet_advice(const KernelSettings& settings, const KernelFacts& kernel);

}  // namespace corehold
