// SPDX-License-Identifier: Apache-2.0
#include "api/object/line_diff.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

using Lines = std::vector<std::string>;

// One character is one line.
Lines lines(std::string_view text) {
  Lines all;
  for (const char c : text) all.emplace_back(1, c);
  return all;
}

TEST(UnifiedDiff, HasThreeLinesAroundAChange) {
  EXPECT_EQ(unified_diff(lines("abcdefghijklmnop"), lines("abXdefghijYlmnoqp")),
            "@@ -1,6 +1,6 @@\n a\n b\n-c\n+X\n d\n e\n f\n@@ -8,9 +8,10 @@\n h\n i\n j\n-k\n+Y\n "
            "l\n m\n n\n o\n+q\n p\n");
}

TEST(UnifiedDiff, CountsAsPatchDoes) {
  EXPECT_EQ(unified_diff({}, {"a"}), "@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unified_diff({"a"}, {}), "@@ -1 +0,0 @@\n-a\n");
  EXPECT_EQ(unified_diff({"a"}, {"b"}), "@@ -1 +1 @@\n-a\n+b\n");
  EXPECT_EQ(unified_diff({"a", "b"}, {"a", "b"}), "");
}

// Not the fewest changes: the longest block is kept. All of these are Python's answers.
TEST(UnifiedDiff, KeepsTheLongestBlockFirst) {
  EXPECT_EQ(unified_diff(lines("xxxxxyxxxxx"), lines("xxxxzxxxxxx")),
            "@@ -1,11 +1,11 @@\n+x\n+x\n+x\n+x\n+z\n x\n x\n x\n x\n x\n-y\n x\n-x\n-x\n-x\n-x\n");
}

TEST(UnifiedDiff, DoesNotGoByLinesThatAreEverywhere) {
  Lines before;
  for (int i = 0; i < 240; ++i) before.push_back(i % 3 == 0 ? "{" : "l" + std::to_string(i));
  Lines after(before.begin(), before.begin() + 30);
  after.insert(after.end(), before.begin() + 33, before.begin() + 120);
  after.insert(after.end(), {"{", "q"});
  after.insert(after.end(), before.begin() + 120, before.end());
  EXPECT_EQ(unified_diff(before, after),
            "@@ -29,9 +29,6 @@\n l28\n l29\n {\n-l31\n-l32\n-{\n l34\n l35\n {\n@@ -119,6 +116,8 "
            "@@\n l118\n l119\n {\n+q\n+{\n l121\n l122\n {\n");
}

TEST(UnifiedDiff, OfLongTextsIsOneBlock) {
  Lines before(100'000, "{");
  Lines after = before;
  after[10] = "a";
  after[20] = "b";
  const std::string text = unified_diff(before, after);
  EXPECT_TRUE(text.starts_with("@@ -8,17 +8,17 @@\n {\n {\n {\n-{\n")) << text;
  EXPECT_TRUE(text.ends_with("+b\n {\n {\n {\n")) << text;
}

}  // namespace
}  // namespace corehold
