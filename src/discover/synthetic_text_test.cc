// SPDX-License-Identifier: Apache-2.0
#include "discover/synthetic_text.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

std::string normal(std::string_view text) {
  const auto result = normalize_synthetic(text);
  return result ? *result : "error: " + result.error().message;
}

TEST(SyntheticText, KeepsWhatIsPlain) {
  for (const char* text : {"package:2 numa:1 l3:2 core:4 pu:2", "2 4 2",
                           "(memory=1GB) pack:2 [numa(memory=2GB)] l3:1(size=4MB) pu:2"}) {
    EXPECT_EQ(normal(text), text);
  }
  EXPECT_EQ(normal("  pack:2   pu:2 "), "pack:2 pu:2");
}

TEST(SyntheticText, SpellsOutEveryIndex) {
  EXPECT_EQ(normal("core:2 pu:2(indexes=core:pu)"), "core:2 pu:2(indexes=0,2,1,3)");
  EXPECT_EQ(normal("core:2 pu:2(indexes=2*2:1*2)"), "core:2 pu:2(indexes=0,2,1,3)");
  EXPECT_EQ(normal("core:2 pu:2(indexes=core)"), "core:2 pu:2(indexes=0,2,1,3)");
  EXPECT_EQ(normal("pack:2 numa:1 core:2 pu:2(indexes=pack:core:pu)"),
            "pack:2 numa:1 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)");
  EXPECT_EQ(normal("pu:3(indexes=7,5,6)"), "pu:3(indexes=7,5,6)");
}

TEST(SyntheticText, RefusesAMachineTooLargeBeforeBuildingIt) {
  EXPECT_EQ(normal("pu:1000000000"),
            "error: \"pu:1000000000\": that makes more than 4096 CPUs, the most supported");
  EXPECT_EQ(normal("pack:64 core:64 pu:2"),
            "error: \"pu:2\": that makes more than 4096 CPUs, the most supported");
  EXPECT_EQ(
      normal("pu:99999999999999999999999"),
      "error: \"pu:99999999999999999999999\": that makes more than 4096 CPUs, the most supported");
  EXPECT_EQ(normal("numa:65 pu:1"),
            "error: describes 65 NUMA nodes or more; the most supported is 64");
  EXPECT_EQ(normal("pack:33 [numa] [numa] pu:1"),
            "error: describes 66 NUMA nodes or more; the most supported is 64");
}

TEST(SyntheticText, NamesTheOffendingItem) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no level is described"},
      {"   ", "no level is described"},
      {"castle:2", "\"castle:2\": not a level; write name:count, as in core:4"},
      {"core:010 pu:1", "\"core:010 pu:1\": the count must be a decimal number from 1"},
      {"core: pu:1", "\"core: pu:1\": the count must be a decimal number from 1"},
      {"pu:0", "\"pu:0\": the count must be a decimal number from 1"},
      {"pu:-1", "\"pu:-1\": the count must be a decimal number from 1"},
      {"pack:2 core:2", "the last level must be pu, the CPUs"},
      {"pu:2 pu:2", "\"pu:2\": a level repeats, or stands inside pu"},
      {"core:2 pack:1 core:2 pu:1", "\"core:2 pu:1\": a level repeats, or stands inside pu"},
      {"pu:2x", "\"pu:2x\": a space must follow a level"},
      {"pu:2(size=1", "\"(size=1\": a parenthesis is not closed"},
      {"pack:2 [numa", "\"[numa\": a bracket is not closed"},
      {"pack:2 [core] pu:1", "\"[core] pu:1\": only NUMA nodes can stand in brackets"},
      {"pu:2(indexes=0,0)", "\"0,0\": an index appears twice"},
      {"pu:2(indexes=0)", "\"0\": 1 indexes for 2 objects"},
      {"pu:2(indexes=0,5000)", "\"5000\": an index is a number from 0 to 4095"},
      {"pu:2(indexes=core:pu)", "\"core\": indexes can name only levels described so far"},
      {"core:2 pu:2(indexes=pu:pu)", "\"pu\": the level appears twice in indexes"},
      {"pu:4(indexes=1*65536:1*65536:1*65536:1*65536)",
       "\"1*65536\": a loop is written step*count"},
      {"pu:4(indexes=1*3)", "\"1*3\": does not number 4 objects from 0 to 3"},
      {"pu:4(indexes=3*2:1*2)", "\"3*2:1*2\": does not number 4 objects from 0 to 3"},
      {"pu:2\n", "byte 4 is not printable ASCII"},
  };
  for (const auto& [text, why] : cases) EXPECT_EQ(normal(text), std::string("error: ") + why);
  EXPECT_EQ(normal(std::string(1U << 17U, '1')), "error: longer than 65536 bytes");
}

}  // namespace
}  // namespace corehold
