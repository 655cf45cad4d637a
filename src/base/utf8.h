// SPDX-License-Identifier: Apache-2.0
//
// UTF-8: what is well-formed, and texts of others made so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corehold {

// The byte at `at`; 0 beyond the end.
inline std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{0};
}

// Length of the well-formed UTF-8 sequence at `at`, 0 when there is none.
std::size_t rune_length(std::string_view text, std::size_t at);

// Whether all of the text is well-formed, as texts in JSON must be.
bool is_utf8(std::string_view text);

// The text with U+FFFD in place of every byte that is no part of a well-formed sequence.
std::string valid_utf8(std::string_view text);

}  // namespace corehold
