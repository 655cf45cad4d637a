// SPDX-License-Identifier: Apache-2.0
#include "gotext/go_json.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

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

}  // namespace corehold
