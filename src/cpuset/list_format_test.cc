// SPDX-License-Identifier: Apache-2.0
#include "cpuset/list_format.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

std::string error_of(std::string_view text) {
  const auto list = parse_list(text);
  return list ? "" : list.error().message;
}

TEST(ListParse, JoinsWhatOverlapsOrTouches) {
  EXPECT_EQ(*parse_list("8,0-3,2-5,6"), (std::vector<NumberRange>{{0, 6}, {8, 8}}));
}

TEST(ListParse, ReadsNumbersAsTheKubeletDoes) {
  EXPECT_EQ(format_list(*parse_list("+1,007,0--0")), "0-1,7");
  EXPECT_EQ(format_list(*parse_list("2147483648")), "2147483648");
}

TEST(ListParse, JoinsAfterTheLargestNumberThereIs) {
  EXPECT_EQ(format_list(*parse_list("0-9223372036854775807,5000")), "0-9223372036854775807");
}

TEST(ListParse, NamesTheOffendingItem) {
  EXPECT_EQ(error_of("0-2,3-1"), R"(list "0-2,3-1": invalid range "3-1" (3 > 1))");
  EXPECT_EQ(error_of("0, 1"), R"(list "0, 1": item " 1": " 1" is not a number)");
  EXPECT_EQ(error_of("-1"), R"(list "-1": item "-1": "" is not a number)");
  EXPECT_EQ(error_of("1,"), R"(list "1,": item "": "" is not a number)");
  EXPECT_EQ(
      error_of("9223372036854775808"),
      R"(list "9223372036854775808": item "9223372036854775808": "9223372036854775808" does not fit 64 bits)");
}

TEST(ListParse, CutsWhatNobodyTyped) {
  const std::string garbage(10'000'000, 'x');
  EXPECT_LT(error_of(garbage).size(), 400U);
}

}  // namespace
}  // namespace corehold
