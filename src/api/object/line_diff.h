// SPDX-License-Identifier: Apache-2.0
//
// Which lines of a text have changed, as a unified diff. The lines are matched as Python's
// difflib does it (and Go programs after it), so that the API's messages come out the same:
// the longest block of equal lines first, then what is before and after it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corehold {

// Hunks with three lines around each change, without file names: "@@ -13,7 +13,7 @@\n..."
// Empty for equal texts. Every line is written with an end. Texts of more than kMaxDiffLines
// lines are compared less cleverly: what differs is one block.
std::string unified_diff(const std::vector<std::string>& before,
                         const std::vector<std::string>& after);
inline constexpr std::size_t kMaxDiffLines = 2000;

}  // namespace corehold
