// SPDX-License-Identifier: Apache-2.0
#include "features/registry/version.h"

#include <gtest/gtest.h>

#include "features/registry/testing.h"

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
      {"", R"("" is no version)"},
      {"banana", R"("banana" is no version)"},
      {"corehold-v0.1.0", R"("corehold-v0.1.0" is no version)"},
      {"1", R"("1" is no version: one number, must be two or three)"},
      {"1.2.3.4", R"("1.2.3.4" is no version: 4 numbers, must be two or three)"},
      {"1.x.0", R"("1.x.0" is no version: "x" is not a number)"},
      {"1..0", R"("1..0" is no version: "" is not a number)"},
      {"1.037.0", R"("1.037.0" is no version: "037" has a leading zero)"},
      {"1.37.0-", R"("1.37.0-" is no version: bad pre-release "")"},
      {"1.37.0-a..b", R"("1.37.0-a..b" is no version: bad pre-release "a..b")"},
      {"1.37.0-rc.01", R"("1.37.0-rc.01" is no version: "01" has a leading zero)"},
      {"1.37.0+", R"("1.37.0+" is no version: bad build "")"},
      {"1.37.0+a_b", R"("1.37.0+a_b" is no version: bad build "a_b")"},
  };
  for (const auto& [text, problem] : problems) {
    const auto parsed = Version::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
    EXPECT_EQ(parsed.error().message, problem + "; write it as 1.37.0 or v1.37.0-rc.1");
  }
}

}  // namespace
}  // namespace corehold
