// SPDX-License-Identifier: Apache-2.0
//
// Lines, words and numbers of the texts that the kernel writes in /proc and /sys.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

namespace corehold {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Takes the first line from `text`, without its end.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// Takes the first word from `line`; empty when there is none.
inline std::string_view take_word(std::string_view& line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  std::size_t end = 0;
  while (end < line.size() && !is_blank(line[end])) ++end;
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// No value: `text` is not a number and nothing else.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace corehold
