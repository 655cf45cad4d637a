// SPDX-License-Identifier: Apache-2.0
#include "gotext/go_json_writer.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace corehold {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

constexpr std::uint64_t every(std::uint64_t byte) { return byte * 0x0101010101010101ULL; }

template <typename Unsigned>
Unsigned load(const char* from) {
  Unsigned value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The `count` bytes at `from`, 1 to 8, with spaces after them.
std::uint64_t load_word(const char* from, std::size_t count) {
  static_assert(std::endian::native == std::endian::little);
  if (count == kWord) return load<std::uint64_t>(from);
  const std::uint64_t spaces = every(' ') << (8 * count);
  if (count >= 4) {
    const std::uint64_t tail = load<std::uint32_t>(from + count - 4);
    return spaces | load<std::uint32_t>(from) | (tail << (8 * (count - 4)));
  }
  std::uint64_t word = spaces;
  for (std::size_t i = 0; i < count; ++i) {
    word |= std::uint64_t{static_cast<std::uint8_t>(from[i])} << (8 * i);
  }
  return word;
}

// How many bytes of the word are written as they are, up to the first that is not: a
// control character, one of " & < > \\ or not ASCII. Each term sets the top bit of the
// first byte that it looks for, and perhaps of later ones.
std::size_t plain_bytes(std::uint64_t word) {
  const auto zero = [](std::uint64_t bytes) { return (bytes - every(1)) & ~bytes; };
  const std::uint64_t control = (word - every(0x20)) & ~word;
  const std::uint64_t quote_or_and = zero((word | every(0x04)) ^ every('&'));
  const std::uint64_t angle = zero((word | every(0x02)) ^ every('>'));
  const std::uint64_t backslash = zero(word ^ every('\\'));
  const std::uint64_t special = (word | control | quote_or_and | angle | backslash) & every(0x80);
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

// How many bytes at the start of `word` are neither a quote nor a backslash.
std::size_t bytes_before_quote_or_backslash(std::uint64_t word) {
  const auto zero = [](std::uint64_t bytes) { return (bytes - every(1)) & ~bytes; };
  const std::uint64_t special = (zero(word ^ every('"')) | zero(word ^ every('\\'))) & every(0x80);
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

// Writes the escape of a control character or one of < > &; at most 6 bytes.
char* write_escape(char* to, std::uint8_t c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "btnvfr";  // 8 to 13, in order; there is no \\v
  *to++ = '\\';
  if (c >= 8 && c <= 13 && c != '\v') {
    *to++ = kShort[c - 8U];
  } else {
    *to++ = 'u';
    *to++ = '0';
    *to++ = '0';
    *to++ = kHex[c >> 4U];
    *to++ = kHex[c & 15U];
  }
  return to;
}

constexpr std::size_t kLongestEscape = 6;

}  // namespace

void GoJsonWriter::grow(std::size_t size, std::size_t keep) {
  capacity_ = std::max(2 * capacity_, size);
  auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
  std::copy_n(buffer_.get(), keep, larger.get());
  buffer_ = std::move(larger);
}

void GoJsonWriter::text(std::string_view text) {
  // Room for the rest with a backslash before each, one longer escape and a word, which
  // is stored whole before it is known how much of it counts. Renewed at every longer
  // escape.
  const auto room_at = [&](const char* to, std::size_t at) {
    const auto used = static_cast<std::size_t>(to - buffer_.get());
    return room(used, 2 * (text.size() - at) + kLongestEscape + kWord);
  };
  char* to = room_at(buffer_.get() + used_, 0);
  *to++ = '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = std::min(kWord, text.size() - at);
    const std::uint64_t word = load_word(text.data() + at, count);
    const std::size_t plain = std::min(count, plain_bytes(word));
    std::memcpy(to, &word, kWord);
    to += plain;
    at += plain;
    if (plain == count) continue;
    const std::uint8_t c = byte_at(text, at);
    if (c == '"' || c == '\\') {
      *to++ = '\\';
      *to++ = static_cast<char>(c);
      ++at;
      continue;
    }
    to = room_at(to, at);
    const std::size_t length = rune_length(text, at);
    const std::string_view rune = text.substr(at, length);
    if (length == 1) {
      to = write_escape(to, c);
    } else if (length == 0) {
      to = std::copy_n("\\ufffd", 6, to);
    } else if (rune == "\xe2\x80\xa8" || rune == "\xe2\x80\xa9") {
      to = std::copy_n(rune.back() == '\xa8' ? "\\u2028" : "\\u2029", 6, to);
    } else {
      to = std::copy(rune.begin(), rune.end(), to);
    }
    at += length == 0 ? 1 : length;
  }
  *to++ = '"';
  used_ = static_cast<std::size_t>(to - buffer_.get());
}

void GoJsonWriter::json_as_text(std::string_view json) {
  char* to = room(used_, 2 * json.size() + kWord + 2);
  *to++ = '"';
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t count = std::min(kWord, json.size() - at);
    const std::uint64_t word = load_word(json.data() + at, count);
    const std::size_t plain = std::min(count, bytes_before_quote_or_backslash(word));
    std::memcpy(to, &word, kWord);
    to += plain;
    at += plain;
    if (plain == count) continue;
    *to++ = '\\';
    *to++ = json[at++];
  }
  *to++ = '"';
  used_ = static_cast<std::size_t>(to - buffer_.get());
}

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = rune_length(text, at);
    const std::uint8_t c = byte_at(text, at);
    const std::string_view rune = text.substr(at, length == 0 ? 1 : length);
    at += rune.size();
    constexpr std::string_view kShort = "\a\b\t\n\v\f\r";  // 7 to 13, in order
    if (c == '"' || c == '\\') {
      out += '\\', out += static_cast<char>(c);
    } else if (length == 1 && kShort.find(static_cast<char>(c)) != std::string_view::npos) {
      out += '\\', out += std::string_view("abtnvfr")[c - 7U];
    } else if (length == 0 || (length == 1 && (c < 0x20 || c == 0x7f))) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      const std::string shown = fmt::format("{:?}", rune);
      if (shown.starts_with("\"\\x")) {
        out += fmt::format("\\u00{}", std::string_view(shown).substr(3, 2));
      } else {
        out.append(shown, 1, shown.size() - 2);
      }
    }
  }
  return out + '"';
}

}  // namespace corehold
