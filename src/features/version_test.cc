// SPDX-License-Identifier: Apache-2.0
#include "features/version.h"

#include <gtest/gtest.h>

#include "features/testing.h"

namespace corehold {
namespace {

TEST(Version, OrdersAsSemanticVersionsDo) {
  const std::vector<std::string> ascending = {"1.9.0",
                                              "1.36.0",
                                              "1.36.7",
                                              "1.37.0-alpha",
                                              "1.37.0-alpha.1",
                                              "1.37.0-alpha.2",
                                              "1.37.0-alpha.10",
                                              "1.37.0-alpha.beta",
                                              "1.37.0-beta.0",
                                              "1.37.0-rc.1",
                                              "1.37.0-rc.1-9-gf910b797915",
                                              "1.37.0",
                                              "1.37.1",
                                              "1.38.0-alpha.0",
                                              "1.38.0",
                                              "2.0.0",
                                              "10.0.0"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(version(ascending[i]) < version(ascending[j]), i < j)
          << ascending[i] << " and " << ascending[j];
      EXPECT_EQ(version(ascending[i]) == version(ascending[j]), i == j);
    }
  }
}

TEST(Version, IgnoresPrefixBuildAndAMissingPatch) {
  EXPECT_EQ(version("v1.37.0"), version("1.37.0"));
  EXPECT_EQ(version("1.37.0+build5"), version("1.37.0"));
  EXPECT_EQ(version("1.37"), version("1.37.0"));
  EXPECT_EQ(version("v1.37.2").str(), "v1.37.2");
}

TEST(Version, ComparesNumbersLongerThanAnyMachineWord) {
  EXPECT_LT(version("1.99999999999999999999999.0"), version("1.100000000000000000000000.0"));
}

TEST(Version, NamesWhatIsWrong) {
  const std::map<std::string, std::string> problems = {
      {"", R"(version "": 1 numbers, must be 2 or 3)"},
      {"1", R"(version "1": 1 numbers, must be 2 or 3)"},
      {"1.2.3.4", R"(version "1.2.3.4": 4 numbers, must be 2 or 3)"},
      {"1.x.0", R"(version "1.x.0": "x" is not a number)"},
      {"1..0", R"(version "1..0": "" is not a number)"},
      {"1.037.0", R"(version "1.037.0": "037" has a leading zero)"},
      {"1.37.0-", R"(version "1.37.0-": bad pre-release "")"},
      {"1.37.0-a..b", R"(version "1.37.0-a..b": bad pre-release "a..b")"},
      {"1.37.0-rc.01", R"(version "1.37.0-rc.01": "01" has a leading zero)"},
      {"1.37.0+", R"(version "1.37.0+": bad build "")"},
      {"1.37.0+a_b", R"(version "1.37.0+a_b": bad build "a_b")"},
  };
  for (const auto& [text, problem] : problems) {
    const auto parsed = Version::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
    EXPECT_EQ(parsed.error().message, problem + "; it looks like 1.37.0 or v1.37.0-rc.1");
  }
}

}  // namespace
}  // namespace corehold
