// SPDX-License-Identifier: Apache-2.0
//
// Sets of CPUs below each other with how many they are, as plans and nodes show them.
#pragma once

#include <string>
#include <vector>

#include "cli/text_table.h"
#include "cpuset/cpu_set.h"

namespace corehold {

struct SetLine {
  std::string name;
  CpuSet cpus;
  std::string rest{};  // after the count
};

// Two columns: the name, and "0-1,8-15  10 CPUs, 8 free to give", aligned.
std::vector<Row> set_rows(const std::vector<SetLine>& lines);

}  // namespace corehold
