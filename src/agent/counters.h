// SPDX-License-Identifier: Apache-2.0
//
// How often each CountMetric was seen, by name and labels as Prometheus writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "manager/effect.h"

namespace corehold {

using Counters = std::map<std::string, std::uint64_t>;

// corehold_x_total{reason="a"}
std::string counter_name(const CountMetric& metric);

}  // namespace corehold
