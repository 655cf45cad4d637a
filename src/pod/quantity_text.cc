// SPDX-License-Identifier: Apache-2.0
#include "pod/quantity_text.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace corehold {
namespace {

using Format = Quantity::Format;

struct NamedSuffix {
  std::string_view name;
  Suffix suffix;
};

constexpr std::array<NamedSuffix, 16> kSuffixes{{
    {"n", {10, -9, Format::kDecimalSi}},
    {"u", {10, -6, Format::kDecimalSi}},
    {"m", {10, -3, Format::kDecimalSi}},
    {"", {10, 0, Format::kDecimalSi}},
    {"k", {10, 3, Format::kDecimalSi}},
    {"M", {10, 6, Format::kDecimalSi}},
    {"G", {10, 9, Format::kDecimalSi}},
    {"T", {10, 12, Format::kDecimalSi}},
    {"P", {10, 15, Format::kDecimalSi}},
    {"E", {10, 18, Format::kDecimalSi}},
    {"Ki", {2, 10, Format::kBinarySi}},
    {"Mi", {2, 20, Format::kBinarySi}},
    {"Gi", {2, 30, Format::kBinarySi}},
    {"Ti", {2, 40, Format::kBinarySi}},
    {"Pi", {2, 50, Format::kBinarySi}},
    {"Ei", {2, 60, Format::kBinarySi}},
}};

constexpr std::string_view kDigits = "0123456789";

// Cuts the longest prefix made of `characters` off `rest`.
std::string_view take_while(std::string_view& rest, std::string_view characters) {
  const std::string_view taken = rest.substr(0, rest.find_first_not_of(characters));
  rest.remove_prefix(taken.size());
  return taken;
}

bool take_any_of(std::string_view& rest, std::string_view characters) {
  if (rest.empty() || characters.find(rest.front()) == std::string_view::npos) return false;
  rest.remove_prefix(1);
  return true;
}

// A decimal number with an optional sign that fits 64 bits.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

Result<Suffix> interpret(std::string_view text) {
  for (const NamedSuffix& named : kSuffixes) {
    if (named.name == text) return named.suffix;
  }
  if (text.size() > 1 && (text.front() == 'e' || text.front() == 'E')) {
    const auto exponent = parse_exponent(text.substr(1));
    if (exponent) return Suffix{10, *exponent, Format::kDecimalExponent};
  }
  return Error{Code::kInvalid, std::string(kSuffixWrong)};
}

// No digits before the point count as the digit 0.
std::string_view whole_digits(const QuantityText& text) {
  return text.whole.empty() ? std::string_view("0") : text.whole;
}

}  // namespace

Result<QuantityText> scan_quantity(std::string_view text) {
  const Error format_wrong{Code::kInvalid, std::string(kFormatWrong)};
  if (text.empty()) return format_wrong;
  QuantityText parts;
  std::string_view rest = text;
  parts.is_negative = rest.front() == '-';
  take_any_of(rest, "+-");
  const std::string_view zeros = take_while(rest, "0");
  parts.whole = take_while(rest, kDigits);
  if (take_any_of(rest, ".")) parts.fraction = take_while(rest, kDigits);
  parts.has_digit = !(zeros.empty() && parts.whole.empty() && parts.fraction.empty());

  const std::string_view suffix = rest;
  take_while(rest, "eEinumkKMGTP");
  take_any_of(rest, "+-");
  take_while(rest, kDigits);
  if (!rest.empty()) return format_wrong;
  parts.suffix = TRY(interpret(suffix));
  return parts;
}

bool is_short(const QuantityText& text) {
  constexpr std::size_t kDecimalDigits = 18;
  constexpr std::int64_t kBinaryDigits = 14;
  constexpr std::int64_t kBillionth = -9;
  const std::size_t whole = whole_digits(text).size();
  const std::size_t fraction = text.fraction.size();
  const Suffix& suffix = text.suffix;
  if (suffix.format == Format::kBinarySi) {
    return fraction == 0 &&
           static_cast<std::int64_t>(whole) + suffix.exponent * 3 / 10 <= kBinaryDigits;
  }
  return whole + fraction <= kDecimalDigits &&
         suffix.exponent >= kBillionth + static_cast<std::int64_t>(fraction);
}

bool looks_canonical(const QuantityText& text) {
  const std::string digits = std::string(whole_digits(text)) + std::string(text.fraction);
  if (text.suffix.format == Format::kBinarySi) {
    // The last three decimal digits decide divisibility by 8.
    const std::size_t last = digits.size() > 3 ? digits.size() - 3 : 0;
    int number = 0;
    std::from_chars(digits.data() + last, digits.data() + digits.size(), number);
    return number % 8 != 0;
  }
  const std::int64_t scale = text.suffix.exponent - static_cast<std::int64_t>(text.fraction.size());
  return scale % 3 == 0 && !digits.ends_with("000") && digits.front() != '0';
}

std::string decimal_suffix(int exponent, Format format) {
  if (exponent == 0) return "";
  if (format != Format::kDecimalExponent) {
    for (const NamedSuffix& named : kSuffixes) {
      if (named.suffix.base == 10 && named.suffix.exponent == exponent) {
        return std::string(named.name);
      }
    }
  }
  return fmt::format("e{}", exponent);
}

std::string_view binary_suffix(int power) {
  if (power == 0) return "";
  for (const NamedSuffix& named : kSuffixes) {
    if (named.suffix.base == 2 && named.suffix.exponent == std::int64_t{power} * 10)
      return named.name;
  }
  check_failed("every power up to kMaxBinaryPower has a suffix", __FILE__, __LINE__);
}

}  // namespace corehold
