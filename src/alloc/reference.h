// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's allocation the slow and plain way, for tests: sets instead of
// counts, every combination and every subset weighed in floating point, averages
// where the kubelet has averages. What take_by_topology must equal on regular
// machines, and must not be worse than on others.
#pragma once

#include <optional>

#include "alloc/take.h"

namespace corehold {

// No value where the kubelet would not return, or fails. On irregular machines the
// answer may lie outside `available`, as the kubelet's does.
std::optional<CpuSet> reference_take(const Topology& topology, const CpuSet& available, int count,
                                     const TakeOptions& options);

}  // namespace corehold
