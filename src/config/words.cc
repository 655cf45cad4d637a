// SPDX-License-Identifier: Apache-2.0
#include "config/words.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace corehold {
namespace {

constexpr std::size_t kLongestWord = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many letters must be changed, added, dropped or swapped with their neighbour.
std::size_t edits(std::string_view one, std::string_view other) {
  // Three rows of the table: two letters back, one back, current.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) rows[1][j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    rows[2][0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool same = lower(one[i - 1]) == lower(other[j - 1]);
      std::size_t best = std::min(rows[1][j], rows[2][j - 1]) + 1;
      best = std::min(best, rows[1][j - 1] + (same ? 0 : 1));
      const bool swapped = i > 1 && j > 1 && lower(one[i - 1]) == lower(other[j - 2]) &&
                           lower(one[i - 2]) == lower(other[j - 1]);
      if (swapped) best = std::min(best, rows[0][j - 2] + 1);
      rows[2][j] = best;
    }
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  }
  return rows[1][other.size()];
}

}  // namespace

std::string clipped(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  std::size_t end = 0;
  while (true) {
    const std::size_t next = end + std::max<std::size_t>(1, rune_length(text, end));
    if (next > longest) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + "...";
}

std::optional<std::string_view> nearest(std::string_view text,
                                        std::span<const std::string_view> known) {
  if (text.empty() || text.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  // A third of a short word is already another word.
  std::size_t limit = std::min<std::size_t>(2, text.size() / 3) + 1;
  for (const std::string_view word : known) {
    const std::size_t distance = edits(text, word);
    if (distance >= limit) continue;
    best = word;
    limit = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> known) {
  const auto word = nearest(text, known);
  return word ? fmt::format("; did you mean {}?", *word) : "";
}

}  // namespace corehold
