// SPDX-License-Identifier: Apache-2.0
//
// Text in columns, as all tables of the commands look.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace corehold {

using Row = std::vector<std::string>;

// Columns two spaces apart, no trailing spaces: the first `left_columns` begin where the
// header does, the others end there.
std::string align(const std::vector<Row>& rows, std::size_t left_columns);

// A table whose rows come one after the other: columns are as wide as they have been so
// far, and grow when they must.
class GrowingTable {
 public:
  std::string add(const std::vector<Row>& rows);

 private:
  std::vector<std::size_t> widths_{};
};

// Every line of `text` two spaces further in.
std::string indented(std::string_view text);

// "1 core", "2 cores".
std::string counted(std::size_t count, std::string_view one);

}  // namespace corehold
