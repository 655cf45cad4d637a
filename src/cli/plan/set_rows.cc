// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/set_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/plan/plan_text.h"

namespace corehold {

std::vector<Row> set_rows(const std::vector<SetLine>& lines) {
  std::size_t width = 0;
  std::size_t digits = 0;
  for (const SetLine& line : lines) {
    width = std::max(width, shown(line.cpus).size());
    digits = std::max(digits, std::to_string(line.cpus.size()).size());
  }
  std::vector<Row> rows;
  rows.reserve(lines.size());
  for (const SetLine& line : lines) {
    rows.push_back(
        {line.name, fmt::format("{:<{}}  {:>{}} CPU{}{}", shown(line.cpus), width, line.cpus.size(),
                                digits, line.cpus.size() == 1 ? "" : "s", line.rest)});
  }
  return rows;
}

}  // namespace corehold
