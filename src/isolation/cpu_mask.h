// SPDX-License-Identifier: Apache-2.0
//
// The kernel's masks of CPUs: hexadecimal, in words of 32 bits with commas between them, the
// highest CPUs first ("ff,ffffffff"). Most files have lists as well; those that have not are
// /proc/irq/default_smp_affinity and the masks of workqueues.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cpuset/cpu_set.h"

namespace corehold {

// Fails with kInvalid.
Result<CpuSet> parse_cpu_mask(std::string_view text);

// The mask with as many digits as `like`, a mask that the kernel has written: the kernel then reads
// back as the same text. Longer where the CPUs need it.
std::string cpu_mask_text(const CpuSet& cpus, std::string_view like);

}  // namespace corehold
