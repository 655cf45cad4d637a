// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(RuneLength, KnowsEveryWellFormedLength) {
  EXPECT_EQ(rune_length("a", 0), 1U);
  EXPECT_EQ(rune_length("\xc3\xbc", 0), 2U);
  EXPECT_EQ(rune_length("\xe2\x82\xac", 0), 3U);
  EXPECT_EQ(rune_length("\xf0\x9f\x98\x80", 0), 4U);
  EXPECT_EQ(rune_length("a\xc3\xbc", 1), 2U);
}

TEST(RuneLength, IsZeroForWhatIsNotUtf8) {
  for (const char* text : {"\x80", "\xc0\xaf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_EQ(rune_length(text, 0), 0U) << text;
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(IsUtf8, LooksAtTheWholeText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xc3\xbc\xe2\x82\xac"));
  EXPECT_FALSE(is_utf8("a\xc3\xbc\xff"));
}

TEST(ValidUtf8, ReplacesOnlyWhatIsNotWellFormed) {
  EXPECT_EQ(valid_utf8("a\xc3\xbc"), "a\xc3\xbc");
  EXPECT_EQ(valid_utf8("\xff"
                       "a\xe2\x82"),
            "\xef\xbf\xbd"
            "a\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace corehold
