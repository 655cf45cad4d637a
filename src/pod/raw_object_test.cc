// SPDX-License-Identifier: Apache-2.0
#include "pod/raw_object.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

TEST(RawObject, CopiesShareTheObject) {
  const RawObject first = json::object{{"a", 1}};
  const RawObject second = first;  // NOLINT(performance-unnecessary-copy-initialization): tested
  EXPECT_EQ(&first.get(), &second.get());
  EXPECT_EQ(first, second);
}

TEST(RawObject, AnEditLeavesTheCopiesAsTheyWere) {
  RawObject first = json::object{{"a", 1}};
  const RawObject second = first;
  first.edit()["a"] = 2;
  EXPECT_EQ(first->at("a"), 2);
  EXPECT_EQ(second->at("a"), 1);
  EXPECT_NE(first, second);
}

TEST(RawObject, AnObjectThatNobodySharesIsEditedInPlace) {
  RawObject object = json::object{{"a", 1}};
  const json::object* const before = &object.get();
  object.edit()["b"] = 2;
  EXPECT_EQ(&object.get(), before);
}

TEST(RawObject, TakingTheObjectLeavesTheCopiesAsTheyWere) {
  RawObject first = json::object{{"a", 1}};
  const RawObject second = first;
  EXPECT_EQ(std::move(first).take(), (json::object{{"a", 1}}));
  EXPECT_EQ(second->at("a"), 1);
}

TEST(RawObject, IsEmptyAtFirstAndEqualToAnEmptyObject) {
  RawObject none;
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(none, RawObject(json::object{}));
  none.edit()["a"] = 1;
  EXPECT_EQ(none->size(), 1U);
  none.edit().clear();
  EXPECT_EQ(none, RawObject{});
}

}  // namespace
}  // namespace corehold
