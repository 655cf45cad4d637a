// SPDX-License-Identifier: Apache-2.0
#include "pod/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

Quantity q(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity) << text << ": " << quantity.error().message;
  return quantity ? *quantity : Quantity();
}

std::string error_of(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  return quantity ? "" : quantity.error().message;
}

TEST(QuantityParse, ReadsEverySuffix) {
  const std::string_view texts[] = {"1n", "1u", "1m",  "1",   "1k",  "1M",  "1G",  "1T",
                                    "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  for (const std::string_view text : texts) EXPECT_EQ(q(text).str(), text);
  EXPECT_EQ(q("1Gi"), Quantity::of(1 << 30));
  EXPECT_EQ(q("1E"), q("1e18"));
  EXPECT_EQ(q("12E-1"), q("1.2"));
}

TEST(QuantityParse, RefusesInTheKubeletsWords) {
  EXPECT_EQ(error_of("1K"), "unable to parse quantity's suffix");
  EXPECT_EQ(error_of("1e99999999999999999999"), "unable to parse quantity's suffix");
  EXPECT_EQ(error_of("2 Gi"),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(error_of(""), error_of("2 Gi"));
  EXPECT_EQ(error_of("Ei"), "unable to parse numeric part of quantity");
  EXPECT_EQ(error_of("e-10"), "unable to parse numeric part of quantity");
}

TEST(QuantityParse, TakesNoDigitsForZeroAsTheKubeletDoes) {
  for (const char* text : {".", "-.", "+", "m", "Ki", "e3", "0e999999999"}) {
    EXPECT_EQ(q(text).sign(), 0) << text;
  }
}

TEST(QuantityParse, RoundsWhatIsTooFineUpToABillionth) {
  EXPECT_EQ(q("0.1n").str(), "1n");
  EXPECT_EQ(q("-0.1n").str(), "-1n");
  EXPECT_EQ(q("1e-9999999").str(), "1e-9");
  EXPECT_EQ(q("1e-9223372036854775808"), q("1n"));
  EXPECT_EQ(q("1.0000000001"), q("1000000001n"));
}

TEST(QuantityParse, CapsBinaryQuantitiesAtInt64) {
  EXPECT_EQ(q("16Ei").str(), "9223372036854775807");
  EXPECT_EQ(q("-16Ei").str(), "-9223372036854775807");
  EXPECT_EQ(q("16Ei").value(), INT64_MAX);
}

TEST(QuantityParse, AnswersHugeExponentsAtOnce) {
  EXPECT_EQ(q("1e400").str(), "10e399");
  EXPECT_EQ(q("-1e400").value(), INT64_MIN);
  EXPECT_EQ(error_of("1e2147483648"),
            "unable to parse quantity's suffix: 10000 digits or more are not supported");
  EXPECT_EQ(error_of("1e9223372036854775807"), error_of("1e2147483648"));
  EXPECT_GT(q("1e9999"), q("999e9996"));
  EXPECT_EQ((q("1e9999") + q("1n") - q("1e9999")).str(), "1e-9");
}

TEST(QuantityParse, AnswersTenMegabytesOfDigitsAtOnce) {
  const std::string digits(10'000'000, '7');
  EXPECT_EQ(error_of(digits),
            "unable to parse numeric part of quantity: 10000 digits or more are not supported");
  EXPECT_EQ(error_of("0." + digits + "Gi"), error_of(digits));
  EXPECT_EQ(q("0." + digits), q("777777778n"));
  EXPECT_EQ(q(std::string(10'000'000, '0') + "1"), Quantity::of(1));
  EXPECT_EQ(q("1" + std::string(9'000, '0') + "e-9000"), Quantity::of(1));
}

TEST(QuantityText, IsKeptWhenItLooksCanonical) {
  EXPECT_EQ(q("+29.199e-3").str(), "+29.199e-3");
  EXPECT_EQ(q("5.").str(), "5.");
  EXPECT_EQ(q("02900").str(), "02900");
  EXPECT_EQ(q("+12Ki").str(), "+12Ki");
}

TEST(QuantityText, IsElseTheLargestSuffixThatLosesNothing) {
  EXPECT_EQ(q("40000").str(), "40k");
  EXPECT_EQ(q("1.5Gi").str(), "1536Mi");
  EXPECT_EQ(q("0.5").str(), "500m");
  EXPECT_EQ(q("94E2").str(), "9400");
  EXPECT_EQ(q("1000Ki").str(), "1000Ki");
  EXPECT_EQ(q("0.1Ki").str(), "102400m");
}

TEST(QuantityText, UsesAnExponentWhereNoSuffixIsLeft) {
  EXPECT_EQ(q("10000E").str(), "10e21");
  EXPECT_EQ(q(q("10000E").str()), q("10000E"));
}

TEST(QuantityRounding, GoesAwayFromZero) {
  EXPECT_EQ(q("2.5m").milli_value(), 3);
  EXPECT_EQ(q("-0.5").value(), -1);
  EXPECT_EQ(q("0.000000001").milli_value(), 1);
}

TEST(QuantityRounding, FollowsTheKubeletForLongNegativeNumbers) {
  EXPECT_EQ(q("-8.857383497m").milli_value(), -7);
  EXPECT_EQ(q("-0.464304862m").value(), 1);
}

TEST(QuantityIntegralCpu, ComparesUnitsWithThousandths) {
  EXPECT_TRUE(q("2").is_integral_cpu());
  EXPECT_TRUE(q("2000m").is_integral_cpu());
  EXPECT_TRUE(q("1.9999").is_integral_cpu());
  EXPECT_FALSE(q("1.999").is_integral_cpu());
  EXPECT_FALSE(q("500m").is_integral_cpu());
  EXPECT_TRUE(q("1e9999").is_integral_cpu());
}

TEST(QuantityArithmetic, KeepsTheFormatOfTheLeftUnlessItIsZero) {
  EXPECT_EQ((q("1Ki") + q("1000P")).str(), "976562500000001Ki");
  EXPECT_EQ((q("0") + q("2048")).str(), "2048");
  EXPECT_EQ((q("0") - q("2Ki")).str(), "-2Ki");
  EXPECT_EQ((q("1e3") - q("999m")).str(), "999001e-3");
}

// Any amount that can be written with up to 40 digits.
rc::Gen<Quantity> any_quantity() {
  return rc::gen::apply(
      [](bool is_negative, const std::string& digits, const std::string& fraction,
         const std::string& suffix) {
        return q((is_negative ? "-" : "") + ("0" + digits) + "." + fraction + suffix);
      },
      rc::gen::arbitrary<bool>(), rc::gen::container<std::string>(rc::gen::inRange('0', ':')),
      rc::gen::container<std::string>(rc::gen::inRange('0', ':')),
      rc::gen::element<std::string>("", "n", "u", "m", "k", "M", "E", "Ki", "Gi", "Ei", "e-12",
                                    "e0", "E40", "e7"));
}

RC_GTEST_PROP(QuantityProperty, TextRoundTrips, ()) {
  const Quantity quantity = *any_quantity();
  const auto again = Quantity::parse(quantity.str());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == quantity);
  RC_ASSERT(again->str() == quantity.str());
}

RC_GTEST_PROP(QuantityProperty, SubtractingUndoesAdding, ()) {
  const Quantity a = *any_quantity();
  const Quantity b = *any_quantity();
  RC_ASSERT((a + b) - b == a);
  RC_ASSERT(a + b == b + a);
  RC_ASSERT((a - a).sign() == 0);
}

RC_GTEST_PROP(QuantityProperty, OrderIsTotal, ()) {
  const Quantity a = *any_quantity();
  const Quantity b = *any_quantity();
  const Quantity c = *any_quantity();
  RC_ASSERT((a < b) + (a == b) + (a > b) == 1);
  RC_ASSERT((a < b) == (b > a));
  RC_ASSERT(!(a <= b && b <= c) || a <= c);
  RC_ASSERT(((a - b).sign() < 0) == (a < b));
}

RC_GTEST_PROP(QuantityProperty, NoTextCrashes, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789.+-eEinumkKMGTP ")));
  const auto quantity = Quantity::parse(text);
  if (quantity) RC_ASSERT(q(quantity->str()) == *quantity);
}

}  // namespace
}  // namespace corehold
