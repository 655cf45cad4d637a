// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {

std::string align(const std::vector<Row>& rows, std::size_t left_columns) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < left_columns ? fmt::format("{:<{}}", row[i], widths[i])
                               : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace corehold
