// SPDX-License-Identifier: Apache-2.0
#include "serve/http_target.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

using Words = std::vector<std::string>;

TEST(HttpTargetParse, TakesPathAndQueryApart) {
  const auto target = HttpTarget::parse("/api/v1//pods/?limit=5&name=a%20b+c&follow");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, (Words{"api", "v1", "pods"}));
  EXPECT_EQ(target->parameter("name"), "a b c");
  EXPECT_EQ(*target->number("limit"), 5);
  EXPECT_TRUE(*target->flag("follow"));
  EXPECT_FALSE(*target->flag("previous"));
}

TEST(HttpTargetParse, DecodesEachPartOfAPathByItself) {
  EXPECT_EQ(HttpTarget::parse("/a%2Fb/c+d")->path, (Words{"a/b", "c+d"}));
  EXPECT_TRUE(HttpTarget::parse("/")->path.empty());
}

TEST(HttpTargetParse, RefusesWhatIsNoPath) {
  for (const char* text : {"", "*", "http://x/", "/%", "/%4", "/%zz", "/?a=%"}) {
    EXPECT_FALSE(HttpTarget::parse(text)) << text;
  }
}

TEST(HttpTargetParameters, RefuseValuesOfAnotherKind) {
  const auto target = HttpTarget::parse("/?a=-1&b=1x&c=&d=maybe&e=99999999999999999999");
  ASSERT_TRUE(target);
  for (const char* name : {"a", "b", "c", "e"}) EXPECT_FALSE(target->number(name)) << name;
  EXPECT_FALSE(target->flag("d"));
  EXPECT_EQ(target->number("a").error().message, "a: \"-1\" is no whole number of 0 or more");
}

TEST(HttpTargetParse, RefusesWhatIsNoUtf8) {
  for (const char* text : {"/a%ff", "/a?b=%c3", "/a?%80=1", "/a\xff"}) {
    const auto target = HttpTarget::parse(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().message, "the target of the request is not UTF-8");
  }
  EXPECT_EQ(HttpTarget::parse("/%c3%a4")->path.at(0), "\u00e4");
}

}  // namespace
}  // namespace corehold
