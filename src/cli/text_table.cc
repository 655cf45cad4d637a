// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {
namespace {

void widen(std::vector<std::size_t>& widths, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
}

std::string joined_lines(const std::vector<Row>& rows, const std::vector<std::size_t>& widths,
                         std::size_t left_columns) {
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

}  // namespace

std::string align(const std::vector<Row>& rows, std::size_t left_columns) {
  std::vector<std::size_t> widths;
  widen(widths, rows);
  return joined_lines(rows, widths, left_columns);
}

std::string GrowingTable::add(const std::vector<Row>& rows) {
  widen(widths_, rows);
  return joined_lines(rows, widths_, widths_.size());
}

std::string indented(std::string_view text) {
  std::string moved;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (!line.empty()) moved += "  ";
    moved += line;
    moved += '\n';
    at = end + 1;
  }
  return moved;
}

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace corehold
