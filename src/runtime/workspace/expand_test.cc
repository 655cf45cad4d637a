// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/expand.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

std::string expanded(std::string_view text) {
  return *expand(text, {{"A", "one"}, {"B", "$(A)"}, {"EMPTY", ""}});
}

TEST(Expand, PutsVariablesIn) {
  EXPECT_EQ(expanded("$(A)"), "one");
  EXPECT_EQ(expanded("x$(A)y$(A)"), "xoneyone");
  EXPECT_EQ(expanded("[$(EMPTY)]"), "[]");
}

TEST(Expand, RefusesWhatGrowsWithoutEnd) {
  const std::string long_value(100'000, 'x');
  EXPECT_TRUE(expand("$(A)", {{"A", long_value}}));
  const auto twice = expand("$(A)$(A)y", {{"A", long_value}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kInvalid);
}

TEST(Expand, TakesWhatTheKernelTakesInOneString) {
  EXPECT_TRUE(expand(std::string(kMostStringBytes - 1, 'x'), {}));
  EXPECT_FALSE(expand(std::string(kMostStringBytes, 'x'), {}));
}

TEST(Expand, KnowsTheSizeWithoutTheValues) {
  const std::string text = "x$(A)$$(A)$(B)$(NONE)$($";
  EXPECT_EQ(expanded_size(text, {{"A", 3}, {"B", 4}, {"EMPTY", 0}}), expanded(text).size());
  EXPECT_EQ(expanded_size("$(A)$(A)", {{"A", 1'000'000'000'000}}), 2'000'000'000'000U);
}

TEST(Expand, LooksOnceForTheEndOfReferencesWithoutOne) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += "$(";
  // Looking for the end of each would take minutes.
  EXPECT_EQ(expanded_size(text, {}), text.size());
}

TEST(Expand, LeavesWhatIsNoVariableAsItIs) {
  EXPECT_EQ(expanded("$(NONE)"), "$(NONE)");
  EXPECT_EQ(expanded("$A ${A} $"), "$A ${A} $");
  EXPECT_EQ(expanded("$(A"), "$(A");
  EXPECT_EQ(expanded("$()"), "$()");
}

TEST(Expand, TakesTwoDollarsForOneAndLooksNoFurther) {
  EXPECT_EQ(expanded("$$(A)"), "$(A)");
  EXPECT_EQ(expanded("$$$(A)"), "$one");
  EXPECT_EQ(expanded("$$$$(A)"), "$$(A)");
  EXPECT_EQ(expanded("$$"), "$");
}

TEST(Expand, DoesNotLookIntoValues) { EXPECT_EQ(expanded("$(B)"), "$(A)"); }

}  // namespace
}  // namespace corehold
