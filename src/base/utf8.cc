// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace corehold {

std::size_t rune_length(std::string_view text, std::size_t at) {
  const auto in = [&](std::size_t offset, int low, int high) {
    const int byte = byte_at(text, at + offset);
    return at + offset < text.size() && byte >= low && byte <= high;
  };
  const int lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return in(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const int low = lead == 0xe0 ? 0xa0 : 0x80;
    const int high = lead == 0xed ? 0x9f : 0xbf;
    return in(1, low, high) && in(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const int low = lead == 0xf0 ? 0x90 : 0x80;
    const int high = lead == 0xf4 ? 0x8f : 0xbf;
    return in(1, low, high) && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = rune_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = rune_length(text, at);
    valid += length == 0 ? kReplacement : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return valid;
}

}  // namespace corehold
