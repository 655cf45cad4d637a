// SPDX-License-Identifier: Apache-2.0
#include "plan/bytes_text.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace corehold {

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace corehold
