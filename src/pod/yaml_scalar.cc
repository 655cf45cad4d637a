// SPDX-License-Identifier: Apache-2.0
#include "pod/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <boost/json/string.hpp>
#include <fmt/format.h>

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 11> kTrue{"y",    "Y",    "yes", "Yes", "YES", "true",
                                                 "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse{"n",     "N",     "no",  "No",  "NO", "false",
                                                  "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 9> kInfinite{".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                    "+.INF", "-.inf", "-.Inf", "-.INF"};
constexpr std::array<std::string_view, 3> kNotANumber{".nan", ".NaN", ".NAN"};

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The base that a number's prefix asks for; the prefix is cut off.
int take_base(std::string_view& digits) {
  struct Prefix {
    std::string_view text;
    int base;
  };
  constexpr std::array<Prefix, 7> kPrefixes{
      {{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2}, {"0o", 8}, {"0O", 8}, {"0", 8}}};
  for (const Prefix& prefix : kPrefixes) {
    if (digits.size() > prefix.text.size() && digits.starts_with(prefix.text)) {
      digits.remove_prefix(prefix.text.size());
      return prefix.base;
    }
  }
  return 10;
}

std::optional<json::value> parse_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const int base = take_base(text);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (is_negative) {
    if (number > kMax + 1) return std::nullopt;
    return json::value(static_cast<std::int64_t>(0 - number));
  }
  if (number > kMax) return json::value(number);
  return json::value(static_cast<std::int64_t>(number));
}

bool is_decimal_number(std::string_view text) {
  const auto take_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  const auto take_one_of = [&text](std::string_view characters) {
    if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  take_one_of("+-");
  const std::size_t whole = take_digits();
  const std::size_t fraction = take_one_of(".") ? take_digits() : 0;
  if (whole + fraction == 0) return false;
  if (take_one_of("eE")) {
    take_one_of("+-");
    if (take_digits() == 0) return false;
  }
  return text.empty();
}

// A whole number becomes an integer, as it would on its way through JSON.
std::optional<json::value> parse_float(std::string_view text) {
  if (!is_decimal_number(text)) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;  // 1e400 stays a text
  constexpr double kExact = 9007199254740992.0;
  if (std::abs(number) < kExact && std::trunc(number) == number) {
    return json::value(static_cast<std::int64_t>(number));
  }
  return json::value(number);
}

bool has_type(const json::value& value, std::string_view type) {
  if (type == "int") return value.is_int64() || value.is_uint64();
  if (type == "float") return value.is_number();
  if (type == "bool") return value.is_bool();
  return type == "null" && value.is_null();
}

}  // namespace

Result<json::value> resolve_plain(std::string_view text) {
  if (contains(kNull, text)) return json::value(nullptr);
  if (contains(kTrue, text)) return json::value(true);
  if (contains(kFalse, text)) return json::value(false);
  if (contains(kInfinite, text) || contains(kNotANumber, text)) {
    return Error{Code::kInvalid, fmt::format("{} has no place in JSON; quote it", text)};
  }
  constexpr std::string_view kNumberStart = "+-.0123456789";
  if (kNumberStart.find(text.front()) != std::string_view::npos) {
    std::string digits(text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (auto number = parse_integer(digits)) return *std::move(number);
    if (auto number = parse_float(digits)) return *std::move(number);
  }
  return json::value(json::string(text));
}

Result<json::value> resolve_scalar(const std::string& tag, std::string_view text) {
  if (tag.empty() || tag == "?") return resolve_plain(text);
  if (tag == "!" || tag == std::string(kTagPrefix) + "str") return json::value(json::string(text));
  if (std::string_view(tag).starts_with(kTagPrefix)) {
    const std::string_view type = std::string_view(tag).substr(kTagPrefix.size());
    json::value value = TRY(resolve_plain(text));
    if (has_type(value, type)) return value;
  }
  constexpr std::size_t kShown = 64;
  return Error{Code::kInvalid, fmt::format("a scalar cannot have the tag {:?}",
                                           std::string_view(tag).substr(0, kShown))};
}

Result<std::string> resolve_key(const std::string& tag, std::string_view text) {
  const json::value value = TRY(resolve_scalar(tag, text));
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return std::string(value.get_bool() ? "true" : "false");
  if (value.is_int64()) return fmt::to_string(value.get_int64());
  if (value.is_uint64()) return fmt::to_string(value.get_uint64());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return Error{Code::kInvalid, "a field needs a name; null is none"};
}

}  // namespace corehold
