// SPDX-License-Identifier: Apache-2.0
#include "pod/exact_json.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

json::value parsed(std::string_view text) {
  json::error_code failed;
  json::value value = parse_exact_json(text, 32, failed);
  EXPECT_FALSE(failed) << text << ": " << failed.message();
  return value;
}

RC_GTEST_PROP(ExactJson, ReadsEveryDoubleAsItWasWritten, (std::uint64_t bits)) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  RC_PRE(std::isfinite(number));
  RC_ASSERT(parsed(json::serialize(json::value(number))).get_double() == number);
}

TEST(ExactJson, ReadsNumbersThatBoostReadsALittleWrong) {
  EXPECT_EQ(parsed("1.3927926388013963E-143").get_double(), 0x1.5bd5fbb686f68p-475);
  EXPECT_EQ(parsed("[5.409760742964738e124]").at(0).get_double(), 0x1.47572ecfc6738p+414);
}

TEST(ExactJson, ReadsEverythingElseAsBoostDoes) {
  for (
      const std::string_view text :
      {R"({"a":[1,-2,18446744073709551615,2.5,-0.0,1e300],"b":{"c":null,"":true},"a":"x\ud83d\ude00"})",
       "[]", "{}", "null", " \"\\u0000\" ", "[[],[{}],false]", "9223372036854775808", "-1e-400"}) {
    EXPECT_EQ(parsed(text), json::parse(text)) << text;
  }
}

TEST(ExactJson, FailsAsBoostDoes) {
  for (const std::string_view text :
       {"", "{", "[1,]", "{\"a\" 1}", "01", "1.", "nul", "\"\xff\"", "[1] [2]", "1e99999"}) {
    json::error_code failed;
    json::error_code expected;
    static_cast<void>(parse_exact_json(text, 32, failed));
    static_cast<void>(json::parse(text, expected));
    EXPECT_EQ(failed, expected) << text;
  }
  json::error_code failed;
  static_cast<void>(parse_exact_json("[[[]]]", 2, failed));
  EXPECT_EQ(failed, json::error::too_deep);
}

TEST(ExactJson, SaysHowMuchWasRead) {
  json::error_code failed;
  std::size_t read = 0;
  static_cast<void>(parse_exact_json("[1] x", 32, failed, &read));
  EXPECT_EQ(failed, json::error::extra_data);
  EXPECT_EQ(read, 4U);
}

}  // namespace
}  // namespace corehold
