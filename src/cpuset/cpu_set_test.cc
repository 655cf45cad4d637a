// SPDX-License-Identifier: Apache-2.0
#include "cpuset/cpu_set.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

CpuSet parsed(std::string_view text) {
  auto set = CpuSet::parse(text);
  CHECK(set.has_value());
  return *set;
}

CpuSet set_of(const std::set<int>& numbers) {
  CpuSet set;
  for (const int number : numbers) set.insert(CpuId(number));
  return set;
}

std::set<int> numbers_of(const CpuSet& set) {
  std::set<int> numbers;
  for (const CpuId cpu : set) numbers.insert(cpu.value);
  return numbers;
}

rc::Gen<std::set<int>> some_numbers() {
  return rc::gen::container<std::set<int>>(
      rc::gen::oneOf(rc::gen::inRange(0, 130), rc::gen::inRange(0, kMaxCpus)));
}

TEST(CpuSetParse, ReadsTheKernelsListFormat) {
  EXPECT_EQ(parsed("0-3,8,10-11").str(), "0-3,8,10-11");
  EXPECT_EQ(parsed("").str(), "");
  EXPECT_EQ(parsed("7,5-6,5").str(), "5-7");
  EXPECT_EQ(parsed("0-4095").size(), 4096);
}

TEST(CpuSetParse, RefusesWhatASetCannotHold) {
  const auto beyond = CpuSet::parse("0-3,5000");
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "5000 is outside 0 to 4095");
  EXPECT_FALSE(CpuSet::parse("0-9223372036854775807"));
  EXPECT_FALSE(NodeSet::parse("64"));
}

TEST(CpuSetValue, TrimsSoThatEqualSetsAreEqual) {
  CpuSet set{CpuId(1), CpuId(4000)};
  set.erase(CpuId(4000));
  EXPECT_EQ(set, CpuSet{CpuId(1)});
  set.erase(CpuId(1));
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set, CpuSet{});
}

TEST(CpuSetValue, KnowsItsEnds) {
  const CpuSet set = parsed("3,64,200");
  EXPECT_EQ(set.first(), CpuId(3));
  EXPECT_EQ(set.last(), CpuId(200));
  EXPECT_FALSE(set.contains(CpuId(-1)));
  EXPECT_FALSE(set.contains(CpuId(4096)));
}

RC_GTEST_PROP(CpuSetProperty, TextRoundTripIsIdentity, ()) {
  const CpuSet set = set_of(*some_numbers());
  RC_ASSERT(parsed(set.str()) == set);
}

RC_GTEST_PROP(CpuSetProperty, OperatorsAreThoseOfSets, ()) {
  const std::set<int> a = *some_numbers();
  const std::set<int> b = *some_numbers();
  std::set<int> both = a;
  both.insert(b.begin(), b.end());
  std::set<int> common;
  std::set<int> only_a;
  for (const int number : a) (b.count(number) != 0 ? common : only_a).insert(number);
  RC_ASSERT(numbers_of(set_of(a) | set_of(b)) == both);
  RC_ASSERT(numbers_of(set_of(a) & set_of(b)) == common);
  RC_ASSERT(numbers_of(set_of(a) - set_of(b)) == only_a);
  RC_ASSERT(set_of(a).count_common(set_of(b)) == static_cast<int>(common.size()));
  RC_ASSERT(set_of(a).intersects(set_of(b)) == !common.empty());
  RC_ASSERT(set_of(a).is_subset_of(set_of(b)) == only_a.empty());
  RC_ASSERT((set_of(a) == set_of(b)) == (a == b));
  RC_ASSERT(set_of(a).size() == static_cast<int>(a.size()));
}

RC_GTEST_PROP(CpuSetProperty, InsertRangeIsInsertingEach, ()) {
  const int first = *rc::gen::inRange(0, kMaxCpus);
  const int last = *rc::gen::inRange(first, kMaxCpus);
  CpuSet each;
  for (int number = first; number <= last; ++number) each.insert(CpuId(number));
  CpuSet range;
  range.insert_range(CpuId(first), CpuId(last));
  RC_ASSERT(each == range);
}

}  // namespace
}  // namespace corehold
