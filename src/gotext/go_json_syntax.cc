// SPDX-License-Identifier: Apache-2.0
#include "gotext/go_json_syntax.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

constexpr std::string_view kEnd = "unexpected end of JSON input";
constexpr std::string_view kDigits = "0123456789";

std::string quoted(char c) {
  if (c == '\'') return R"('\'')";
  if (c == '"') return R"('"')";
  const std::string text = go_quoted(std::string_view(&c, 1));
  return fmt::format("'{}'", std::string_view(text).substr(1, text.size() - 2));
}

// Goes over the text once; each step leaves at_ behind what it has understood, or says what
// it could not.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string problem() {
    std::optional<std::string> found = value();
    while (!found && !open_.empty()) found = after_value();
    if (found) return *found;
    skip_blanks();
    return at_ < text_.size() ? unexpected("after top-level value") : "";
  }

 private:
  using Problem = std::optional<std::string>;

  std::string unexpected(std::string_view where) const {
    if (at_ >= text_.size()) return std::string(kEnd);
    return fmt::format("invalid character {} {}", quoted(text_[at_]), where);
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != kNone) ++at_;
  }

  bool take_digits() {
    const std::size_t before = at_;
    while (at_ < text_.size() && kDigits.find(text_[at_]) != kNone) ++at_;
    return at_ > before;
  }

  // Opens lists and objects until there is a value in the innermost.
  Problem value() {
    for (;;) {
      skip_blanks();
      if (take('{')) {
        open_.push_back('{');
        skip_blanks();
        if (take('}')) {
          open_.pop_back();
          return {};
        }
        if (Problem found = key()) return found;
        continue;
      }
      if (take('[')) {
        open_.push_back('[');
        skip_blanks();
        if (take(']')) {
          open_.pop_back();
          return {};
        }
        continue;
      }
      return scalar();
    }
  }

  Problem key() {
    skip_blanks();
    if (!take('"')) return unexpected("looking for beginning of object key string");
    if (Problem found = rest_of_string()) return found;
    skip_blanks();
    if (!take(':')) return unexpected("after object key");
    return {};
  }

  // REQUIRES: something is open.
  Problem after_value() {
    skip_blanks();
    const bool in_object = open_.back() == '{';
    if (take(in_object ? '}' : ']')) {
      open_.pop_back();
      return {};
    }
    if (!take(',')) {
      return unexpected(in_object ? "after object key:value pair" : "after array element");
    }
    if (in_object) {
      if (Problem found = key()) return found;
    }
    return value();
  }

  Problem scalar() {
    if (take('"')) return rest_of_string();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (at_ < text_.size() && text_[at_] == word.front()) return literal(word);
    }
    return number();
  }

  Problem literal(std::string_view word) {
    for (const char c : word) {
      if (take(c)) continue;
      return unexpected(fmt::format("in literal {} (expecting {})", word, quoted(c)));
    }
    return {};
  }

  Problem number() {
    const bool is_negative = take('-');
    if (!take('0') && !take_digits()) {
      return unexpected(is_negative ? "in numeric literal" : "looking for beginning of value");
    }
    if (take('.') && !take_digits()) return unexpected("after decimal point in numeric literal");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!take_digits()) return unexpected("in exponent of numeric literal");
    }
    return {};
  }

  Problem rest_of_string() {
    while (!take('"')) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20)
        return unexpected("in string literal");
      if (text_[at_++] != '\\') continue;
      if (take('u')) {
        for (int i = 0; i < 4; ++i) {
          constexpr std::string_view kHex = "0123456789abcdefABCDEF";
          if (at_ >= text_.size() || kHex.find(text_[at_]) == kNone)
            return unexpected("in \\u hexadecimal character escape");
          ++at_;
        }
      } else if (at_ >= text_.size() || std::string_view("bfnrt\\/\"").find(text_[at_]) == kNone) {
        return unexpected("in string escape code");
      } else {
        ++at_;
      }
    }
    return {};
  }

  static constexpr std::size_t kNone = std::string_view::npos;

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_{};
};

}  // namespace

std::string go_json_problem(std::string_view text) { return Scanner(text).problem(); }

}  // namespace corehold
