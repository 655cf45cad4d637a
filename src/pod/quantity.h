// SPDX-License-Identifier: Apache-2.0
//
// Quantity: an amount of a resource as Kubernetes writes it ("500m", "1.5Gi",
// "12e6"). A value, exact in decimal down to a billionth; it remembers which
// kind of suffix it had. Quantities compare as numbers: 1 equals 1000m.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

class Quantity {
 public:
  // The kind of suffix: n u m k M ... E, Ki ... Ei, or an exponent.
  enum class Format { kDecimalSi, kBinarySi, kDecimalExponent };

  // Magnitudes reach up to, not including, 10 to this power.
  static constexpr int kMaxDigits = 10'000;

  // Zero.
  Quantity() = default;
  static Quantity of(std::int64_t whole);
  static Quantity of_milli(std::int64_t thousandths);

  // Accepts what a kubelet accepts. What is finer than a billionth is rounded away
  // from zero to one; a binary quantity beyond 2^63-1 becomes that. Time and memory
  // are bounded by the length of `text`, whatever exponent it has.
  //
  // Fails with kInvalid and the kubelet's text for what a kubelet refuses, and for
  // numbers of kMaxDigits digits and more, whose text says so.
  static Result<Quantity> parse(std::string_view text);

  // As a kubelet prints it: a text that was already (nearly) canonical as it was
  // given, else with the largest suffix that loses nothing. Where a kubelet has no
  // suffix (1000E) it prints a wrong number; this prints an exponent (1e21).
  std::string str() const;

  Format format() const { return format_; }

  // -1, 0 or 1.
  int sign() const;

  // The number in units of 10^exponent, rounded away from zero (but a negative number
  // with more digits than the kubelet's short form holds is rounded towards zero and
  // one is added, as the kubelet does). No value: it does not fit 64 bits.
  std::optional<std::int64_t> scaled(int exponent) const;

  // The number in units and in thousandths, rounded as by scaled(). What does not
  // fit 64 bits becomes the nearest that does (a kubelet's wraps around).
  std::int64_t value() const;
  std::int64_t milli_value() const;

  // What the static policy takes for a whole number of CPUs: the number rounded to
  // thousandths is the number rounded to units. 2 and 1.9999 are, 1.999 is not.
  bool is_integral_cpu() const;

  // The result has the format of the left side, unless that is zero.
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;

  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const;

 private:
  // An integer of any length. Only quantity.cc knows what it is made of: the header of
  // the library behind it takes the compiler longer than all of ours.
  struct BigInt;

  Quantity(const BigInt& mantissa, int exponent, Format format);

  BigInt mantissa() const;
  BigInt rounded(int exponent) const;

  // The number is the mantissa * 10^exponent_; the mantissa has no factor 10, and zero
  // has exponent 0. The exponent is never below -9. The mantissa is small_ unless there
  // is a long one, which is there only for what 64 bits cannot hold.
  std::int64_t small_ = 0;
  std::shared_ptr<const BigInt> long_{};
  int exponent_ = 0;
  Format format_ = Format::kDecimalSi;
  bool is_long_ = false;    // a kubelet holds it as a decimal of any length
  std::string spelling_{};  // what str() gives back; empty: to be computed
};

// "DecimalSI", "BinarySI", "DecimalExponent".
std::string_view name_of(Quantity::Format format);

}  // namespace corehold
