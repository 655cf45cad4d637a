// SPDX-License-Identifier: Apache-2.0
#include "state/go_json.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{0};
}

// Length of the well-formed UTF-8 sequence at `at`, 0 when there is none.
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

// Every byte that is no part of a well-formed sequence becomes U+FFFD.
void make_valid_utf8(std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = byte_at(text, at) < 0x80 ? 1 : rune_length(text, at);
    if (length == 0) break;
    at += length;
  }
  if (at == text.size()) return;
  std::string valid = text.substr(0, at);
  while (at < text.size()) {
    const std::size_t length = rune_length(text, at);
    valid += length == 0 ? kReplacement : std::string_view(text).substr(at, length);
    at += length == 0 ? 1 : length;
  }
  text = std::move(valid);
}

// The value of the escape "\uXXXX" at `at`, if there is one.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  for (const char c : text.substr(at + 2, 4)) {
    unit *= 16;
    if (c >= '0' && c <= '9') {
      unit += static_cast<unsigned>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      unit += static_cast<unsigned>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

// Boost refuses the escape of a lone surrogate, Go reads it as U+FFFD: the same
// text with such escapes replaced. A backslash outside a string stays an error.
std::string without_lone_surrogates(std::string_view text) {
  std::string out(text);
  for (std::size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const auto unit = escaped_unit(out, at);
    if (!unit) {
      at += 2;
      continue;
    }
    const auto next = escaped_unit(out, at + 6);
    const bool is_high = *unit >= 0xd800 && *unit < 0xdc00;
    if (is_high && next && *next >= 0xdc00 && *next < 0xe000) {
      at += 12;
      continue;
    }
    if (*unit >= 0xd800 && *unit < 0xe000) out.replace(at + 2, 4, "fffd");
    at += 6;
  }
  return out;
}

bool may_have_surrogates(std::string_view text) {
  return text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos;
}

// Builds the tree from the parser's events.
class TreeBuilder {
 public:
  // NOLINTBEGIN(readability-identifier-naming): names that Boost.JSON asks for
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  // NOLINTEND(readability-identifier-naming)
  using Ec = json::error_code;

  JsonValue take() { return std::move(root_); }

  bool on_document_begin(Ec&) { return true; }
  bool on_document_end(Ec&) { return true; }
  bool on_object_begin(Ec&) { return open(JsonValue::Kind::kObject); }
  bool on_object_end(std::size_t, Ec&) { return close(); }
  bool on_array_begin(Ec&) {
    open(JsonValue::Kind::kArray);
    ++arrays_;
    return true;
  }
  bool on_array_end(std::size_t, Ec&) {
    --arrays_;
    return close();
  }
  bool on_key_part(json::string_view part, std::size_t, Ec&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Ec&) {
    text_.append(part.data(), part.size());
    make_valid_utf8(text_);
    key_ = std::exchange(text_, {});
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, Ec&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(json::string_view part, std::size_t, Ec&) {
    text_.append(part.data(), part.size());
    make_valid_utf8(text_);
    return add(JsonValue::Kind::kString);
  }
  bool on_number_part(json::string_view part, Ec&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t, json::string_view part, Ec&) { return on_number(part); }
  bool on_uint64(std::uint64_t, json::string_view part, Ec&) { return on_number(part); }
  bool on_double(double, json::string_view part, Ec&) { return on_number(part); }
  bool on_bool(bool, Ec&) { return add(JsonValue::Kind::kBool); }
  bool on_null(Ec&) { return add(JsonValue::Kind::kNull); }
  bool on_comment_part(json::string_view, Ec&) { return true; }
  bool on_comment(json::string_view, Ec&) { return true; }

 private:
  bool on_number(json::string_view part) {
    text_.append(part.data(), part.size());
    return add(JsonValue::Kind::kNumber);
  }

  // Where the next value goes. REQUIRES: arrays_ == 0.
  JsonValue& place() {
    if (open_.empty()) return root_;
    open_.back()->members.push_back({.key = std::exchange(key_, {}), .value = {}});
    return open_.back()->members.back().value;
  }

  bool add(JsonValue::Kind kind) {
    std::string text = std::exchange(text_, {});
    if (arrays_ > 0) return true;
    JsonValue& value = place();
    value.kind = kind;
    value.text = std::move(text);
    return true;
  }

  // Only the innermost open object grows, so pointers to the outer ones stay valid.
  bool open(JsonValue::Kind kind) {
    if (arrays_ > 0) {
      ++skipped_;
      return true;
    }
    JsonValue& value = place();
    value.kind = kind;
    open_.push_back(&value);
    return true;
  }

  bool close() {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  JsonValue root_{};
  std::vector<JsonValue*> open_{};
  int arrays_ = 0;   // arrays open around the current position
  int skipped_ = 0;  // objects and arrays open inside the outermost array
  std::string key_{};
  std::string text_{};
};

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

Result<JsonValue> parse_go_json(std::string_view bytes) {
  std::string repaired;
  if (may_have_surrogates(bytes)) {
    repaired = without_lone_surrogates(bytes);
    bytes = repaired;
  }
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  options.allow_invalid_utf8 = true;
  json::basic_parser<TreeBuilder> parser(options);
  json::error_code ec;
  const std::size_t read = parser.write_some(false, bytes.data(), bytes.size(), ec);
  if (ec == json::error::incomplete) {
    return Error{Code::kCorrupt, "unexpected end of JSON input"};
  }
  if (ec) {
    return Error{Code::kCorrupt,
                 fmt::format("invalid character at byte {} of JSON input: {}", read, ec.message())};
  }
  if (read < bytes.size()) {
    return Error{Code::kCorrupt,
                 fmt::format("invalid character at byte {} after top-level value", read)};
  }
  return parser.handler().take();
}

std::string_view name_of(JsonValue::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames{"null",   "bool",  "number",
                                                   "string", "array", "object"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_go_field(std::string_view key, std::string_view field) {
  if (key == field) return true;
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const char wanted : field) {
    const char letter = lower(wanted);
    if (!key.empty() && lower(key.front()) == letter) {
      key.remove_prefix(1);
    } else if (letter == 's' && key.starts_with("\xc5\xbf")) {
      key.remove_prefix(2);
    } else if (letter == 'k' && key.starts_with("\xe2\x84\xaa")) {
      key.remove_prefix(3);
    } else {
      return false;
    }
  }
  return key.empty();
}

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
