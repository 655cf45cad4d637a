// SPDX-License-Identifier: Apache-2.0
//
// The parts of a quantity's text: sign, digits and suffix, found by the rules of
// a kubelet's scanner and not yet turned into a number. For quantity.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pod/quantity.h"

namespace corehold {

inline constexpr std::string_view kFormatWrong =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
inline constexpr std::string_view kSuffixWrong = "unable to parse quantity's suffix";
inline constexpr std::string_view kNumberWrong = "unable to parse numeric part of quantity";

struct Suffix {
  int base = 10;  // 10 or 2
  std::int64_t exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimalSi;
};

struct QuantityText {
  bool is_negative = false;
  bool has_digit = false;       // "." and "-" have none, and are zero
  std::string_view whole{};     // digits before the point, without leading zeros
  std::string_view fraction{};  // digits after the point
  Suffix suffix{};
};

// Fails with kInvalid and kFormatWrong or kSuffixWrong.
Result<QuantityText> scan_quantity(std::string_view text);

// The kubelet reads short numbers by a quicker way that sees fewer errors...
bool is_short(const QuantityText& text);

// ... and prints them back as they were given when they look canonical.
// REQUIRES: is_short(text).
bool looks_canonical(const QuantityText& text);

// The suffix for 10^exponent in this format; an exponent where there is none.
std::string decimal_suffix(int exponent, Quantity::Format format);

// The suffix for 1024^power. REQUIRES: 0 <= power <= kMaxBinaryPower.
std::string_view binary_suffix(int power);
inline constexpr int kMaxBinaryPower = 6;

}  // namespace corehold
