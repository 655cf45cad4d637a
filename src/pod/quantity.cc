// SPDX-License-Identifier: Apache-2.0
#include "pod/quantity.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

#include "pod/quantity_text.h"

namespace corehold {

struct Quantity::BigInt {
  boost::multiprecision::cpp_int number{};
};

namespace {

using Number = boost::multiprecision::cpp_int;
using Format = Quantity::Format;

constexpr int kFinest = -9;  // a billionth

Number power_of_ten(int exponent) {
  return boost::multiprecision::pow(Number(10), static_cast<unsigned>(exponent));
}

// REQUIRES: only digits. Takes eighteen at a time, as many as fit 64 bits.
Number number_of(std::string_view digits) {
  constexpr std::size_t kChunk = 18;
  Number number = 0;
  while (!digits.empty()) {
    const std::string_view chunk = digits.substr(0, kChunk);
    std::uint64_t unit = 1;
    std::uint64_t part = 0;
    for (const char digit : chunk) {
      unit *= 10;
      part = part * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    number *= unit;
    number += part;
    digits.remove_prefix(chunk.size());
  }
  return number;
}

// Divides, rounding what is not negative up. REQUIRES: number >= 0, divisor > 0.
Number divide_up(const Number& number, const Number& divisor) {
  return (number + divisor - 1) / divisor;
}

std::string strip_zeros(const QuantityText& text) {
  std::string digits = std::string(text.whole) + std::string(text.fraction);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

Error too_large(std::string_view what) {
  return Error{Code::kInvalid,
               fmt::format("{}: {} digits or more are not supported", what, Quantity::kMaxDigits)};
}

// A number without its sign: mantissa * 10^exponent.
struct Magnitude {
  Number mantissa{};
  int exponent = 0;
};

// REQUIRES: text.suffix is decimal.
Result<Magnitude> decimal_magnitude(const QuantityText& text) {
  std::string digits = strip_zeros(text);
  const auto fraction = static_cast<std::int64_t>(text.fraction.size());
  const std::size_t significant = digits.find_last_not_of('0') + 1;  // 0 when there is none
  if (significant == 0) return Magnitude{};
  // The suffix may be any 64-bit number: compare before adding to it.
  const auto zeros = static_cast<std::int64_t>(digits.size() - significant);
  const std::int64_t shift = zeros - fraction;
  if (text.suffix.exponent > std::int64_t{2} * Quantity::kMaxDigits + fraction)
    return too_large(kSuffixWrong);
  const std::int64_t exponent =
      std::max(text.suffix.exponent, std::numeric_limits<std::int64_t>::min() / 2) + shift;
  digits.resize(significant);
  if (exponent + static_cast<std::int64_t>(significant) > Quantity::kMaxDigits) {
    return too_large(text.suffix.exponent > Quantity::kMaxDigits ? kSuffixWrong : kNumberWrong);
  }
  if (exponent >= kFinest) return Magnitude{number_of(digits), static_cast<int>(exponent)};
  // Too fine by this many digits; the last of them is not 0, so round up.
  const std::int64_t excess = kFinest - exponent;
  if (excess >= static_cast<std::int64_t>(significant)) return Magnitude{1, kFinest};
  digits.resize(significant - static_cast<std::size_t>(excess));
  return Magnitude{number_of(digits) + 1, kFinest};
}

// REQUIRES: text.suffix is binary.
Result<Magnitude> binary_magnitude(const QuantityText& text) {
  const std::string digits = strip_zeros(text);
  if (digits.empty()) return Magnitude{};
  if (text.whole.size() + text.fraction.size() >= static_cast<std::size_t>(Quantity::kMaxDigits)) {
    return too_large(kNumberWrong);
  }
  const int fraction = static_cast<int>(text.fraction.size());
  Number number = number_of(digits) << static_cast<unsigned>(text.suffix.exponent);
  int exponent = -fraction;
  if (exponent < kFinest) {
    number = divide_up(number, power_of_ten(kFinest - exponent));
    exponent = kFinest;
  }
  const Number largest = std::numeric_limits<std::int64_t>::max();
  if (number > largest * power_of_ten(-exponent)) return Magnitude{largest, 0};
  return Magnitude{std::move(number), exponent};
}

bool fits_64_bits(const Number& number) {
  using Limits = std::numeric_limits<std::int64_t>;
  return number >= Limits::min() && number <= Limits::max();
}

}  // namespace

Quantity::Quantity(const BigInt& mantissa, int exponent, Format format)
    : exponent_(exponent), format_(format) {
  Number number = mantissa.number;
  if (number == 0) {
    exponent_ = 0;
    return;
  }
  while (number % 10 == 0) {
    number /= 10;
    ++exponent_;
  }
  if (fits_64_bits(number)) {
    small_ = static_cast<std::int64_t>(number);
  } else {
    long_ = std::make_shared<const BigInt>(BigInt{std::move(number)});
  }
}

Quantity::BigInt Quantity::mantissa() const { return long_ ? *long_ : BigInt{small_}; }

int Quantity::sign() const {
  if (long_) return long_->number.sign();
  return small_ < 0 ? -1 : static_cast<int>(small_ > 0);
}

Quantity Quantity::of(std::int64_t whole) { return {BigInt{whole}, 0, Format::kDecimalSi}; }

Quantity Quantity::of_milli(std::int64_t thousandths) {
  return {BigInt{thousandths}, -3, Format::kDecimalSi};
}

Result<Quantity> Quantity::parse(std::string_view text) {
  const QuantityText parts = TRY(scan_quantity(text));
  const bool is_brief = is_short(parts);
  if (!is_brief && !parts.has_digit) return Error{Code::kInvalid, std::string(kNumberWrong)};
  Format format = parts.suffix.format;
  Magnitude magnitude =
      TRY(format == Format::kBinarySi ? binary_magnitude(parts) : decimal_magnitude(parts));
  if (parts.is_negative) magnitude.mantissa = -magnitude.mantissa;
  Quantity quantity(BigInt{std::move(magnitude.mantissa)}, magnitude.exponent, format);
  quantity.is_long_ = !is_brief;
  if (is_brief && looks_canonical(parts)) quantity.spelling_ = text;
  // A binary quantity below one would only confuse as such.
  const Number unit = power_of_ten(-std::min(quantity.exponent_, 0));
  const bool is_fraction =
      quantity.sign() != 0 && boost::multiprecision::abs(quantity.mantissa().number) < unit;
  if (format == Format::kBinarySi && is_fraction) quantity.format_ = Format::kDecimalSi;
  return quantity;
}

std::string Quantity::str() const {
  if (!spelling_.empty()) return spelling_;
  if (sign() == 0) return "0";
  if (format_ == Format::kBinarySi && exponent_ >= 0) {
    Number number = mantissa().number * power_of_ten(exponent_);
    if (boost::multiprecision::abs(number) >= 1024) {
      int power = 0;
      while (power < kMaxBinaryPower && number % 1024 == 0) {
        number /= 1024;
        ++power;
      }
      return number.str() + std::string(binary_suffix(power));
    }
  }
  const int excess = ((exponent_ % 3) + 3) % 3;
  return Number(mantissa().number * power_of_ten(excess)).str() +
         decimal_suffix(exponent_ - excess, format_);
}

Quantity::BigInt Quantity::rounded(int exponent) const {
  const int shift = exponent_ - exponent;
  const Number number = mantissa().number;
  if (shift >= 0) return {number * power_of_ten(shift)};
  const Number divisor = power_of_ten(-shift);
  const Number whole = number / divisor;  // towards zero
  if (number % divisor == 0) return {whole};
  return {whole + (sign() < 0 && !is_long_ ? -1 : 1)};
}

std::optional<std::int64_t> Quantity::scaled(int exponent) const {
  constexpr int kMaxInt64Digits = 19;
  if (sign() == 0) return 0;
  const int shift = exponent_ - exponent;
  if (shift > kMaxInt64Digits) return std::nullopt;
  if (!long_ && shift >= 0) {
    std::int64_t number = small_;
    for (int i = 0; i < shift; ++i) {
      if (__builtin_mul_overflow(number, std::int64_t{10}, &number)) return std::nullopt;
    }
    return number;
  }
  const Number number = rounded(exponent).number;
  if (!fits_64_bits(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::int64_t Quantity::value() const {
  using Limits = std::numeric_limits<std::int64_t>;
  return scaled(0).value_or(sign() < 0 ? Limits::min() : Limits::max());
}

std::int64_t Quantity::milli_value() const {
  using Limits = std::numeric_limits<std::int64_t>;
  return scaled(-3).value_or(sign() < 0 ? Limits::min() : Limits::max());
}

bool Quantity::is_integral_cpu() const {
  return exponent_ >= 0 || rounded(0).number * 1000 == rounded(-3).number;
}

Quantity Quantity::operator+(const Quantity& other) const {
  const int exponent = std::min(exponent_, other.exponent_);
  Quantity sum(BigInt{mantissa().number * power_of_ten(exponent_ - exponent) +
                      other.mantissa().number * power_of_ten(other.exponent_ - exponent)},
               exponent, sign() == 0 ? other.format_ : format_);
  sum.is_long_ = is_long_ || other.is_long_;
  return sum;
}

Quantity Quantity::operator-(const Quantity& other) const {
  Quantity negated(BigInt{-other.mantissa().number}, other.exponent_, other.format_);
  negated.is_long_ = other.is_long_;
  return *this + negated;
}

std::strong_ordering Quantity::operator<=>(const Quantity& other) const {
  const int exponent = std::min(exponent_, other.exponent_);
  if (exponent_ == other.exponent_ && !long_ && !other.long_) return small_ <=> other.small_;
  const Number mine = mantissa().number * power_of_ten(exponent_ - exponent);
  const int order =
      mine.compare(other.mantissa().number * power_of_ten(other.exponent_ - exponent));
  return order <=> 0;
}

bool Quantity::operator==(const Quantity& other) const {
  if (exponent_ != other.exponent_ || !long_ != !other.long_) return false;
  return long_ ? long_->number == other.long_->number : small_ == other.small_;
}

std::string_view name_of(Format format) {
  switch (format) {
    case Format::kDecimalSi:
      return "DecimalSI";
    case Format::kBinarySi:
      return "BinarySI";
    case Format::kDecimalExponent:
      return "DecimalExponent";
  }
  check_failed("every Format has a name", __FILE__, __LINE__);
}

}  // namespace corehold
