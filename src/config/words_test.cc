// SPDX-License-Identifier: Apache-2.0
#include "config/words.h"

#include <array>

#include <gtest/gtest.h>

namespace corehold {
namespace {

constexpr std::array<std::string_view, 4> kKnown{"runtime", "listen", "paths", "minSharedCPUs"};

TEST(Nearest, FindsAMistypedWord) {
  EXPECT_EQ(nearest("minsharedcpus", kKnown), "minSharedCPUs");
  EXPECT_EQ(nearest("runtme", kKnown), "runtime");
  EXPECT_EQ(nearest("rnutime", kKnown), "runtime");
  EXPECT_EQ(nearest("listens", kKnown), "listen");
  EXPECT_EQ(nearest("path", kKnown), "paths");
}

TEST(Nearest, LeavesOtherWordsAlone) {
  for (const char* text : {"", "x", "lis", "memory", "minSharedPods"}) {
    EXPECT_EQ(nearest(text, kKnown), std::nullopt) << text;
  }
  EXPECT_EQ(nearest(std::string(100'000, 'p'), kKnown), std::nullopt);
}

TEST(DidYouMean, IsTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("pahts", kKnown), "; did you mean paths?");
  EXPECT_EQ(did_you_mean("devices", kKnown), "");
}

TEST(Clipped, KeepsCharactersWhole) {
  EXPECT_EQ(clipped("short"), "short");
  EXPECT_EQ(clipped(std::string(65, 'x')), std::string(64, 'x') + "...");
  EXPECT_EQ(clipped("aaa\u00e9\u00e9", 4), "aaa...");
  EXPECT_EQ(clipped("aaa\xff\xff", 4), "aaa\xff...");
}

}  // namespace
}  // namespace corehold
