// SPDX-License-Identifier: Apache-2.0
#include "isolation/cpu_mask.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

CpuSet cpus(std::string_view list) { return *CpuSet::parse(list); }

TEST(CpuMask, IsReadInWordsOfTheHighestCpusFirst) {
  EXPECT_EQ(parse_cpu_mask("3")->str(), "0-1");
  EXPECT_EQ(parse_cpu_mask("00000001,00000000,80000002\n")->str(), "1,31,64");
  EXPECT_TRUE(parse_cpu_mask("0")->empty());
}

TEST(CpuMask, HasTheLengthThatTheKernelGaveIt) {
  EXPECT_EQ(cpu_mask_text(cpus("0"), "3"), "1");
  EXPECT_EQ(cpu_mask_text(cpus("0"), "ff\n"), "01");
  EXPECT_EQ(cpu_mask_text(cpus("0-31"), "ff,ffffffff"), "00,ffffffff");
  EXPECT_EQ(cpu_mask_text(cpus("33,64"), "ffffffff,ffffffff,ffffffff"),
            "00000001,00000002,00000000");
}

TEST(CpuMask, IsLongerWhereTheCpusNeedIt) {
  EXPECT_EQ(cpu_mask_text(cpus("4"), "f"), "10");
  EXPECT_EQ(cpu_mask_text(cpus("32"), "ff"), "1,00000000");
  EXPECT_EQ(cpu_mask_text(cpus(""), ""), "0");
}

TEST(CpuMask, OfSomethingElseIsRefused) {
  for (const char* text : {"", "\n", ",1", "1,", "x", "123456789", "1,,2", "0x3"}) {
    EXPECT_FALSE(parse_cpu_mask(text)) << text;
  }
  std::string large = "1";
  for (int word = 0; word < kMaxCpus / 32; ++word) large += ",00000000";
  EXPECT_FALSE(parse_cpu_mask(large));
}

RC_GTEST_PROP(CpuMask, ReadsBackAsWhatWasWritten, ()) {
  CpuSet set;
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 300));
  for (const int number : numbers) set.insert(CpuId(number));
  const auto like = cpu_mask_text(set, *rc::gen::element<std::string>("f", "ff,ffffffff", "0"));
  RC_ASSERT(*parse_cpu_mask(like) == set);
  RC_ASSERT(cpu_mask_text(set, like) == like);
}

}  // namespace
}  // namespace corehold
