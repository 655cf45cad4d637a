// SPDX-License-Identifier: Apache-2.0
#include "discover/source.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(SourceParse, ReadsTheThreeForms) {
  EXPECT_EQ(TopologySource::parse("host")->kind, TopologySource::Kind::kHost);
  EXPECT_EQ(*TopologySource::parse("xml:a:b.xml"),
            (TopologySource{TopologySource::Kind::kXml, "a:b.xml"}));
  EXPECT_EQ(*TopologySource::parse("synthetic:core:2 pu:2"),
            (TopologySource{TopologySource::Kind::kSynthetic, "core:2 pu:2"}));
  for (const char* text : {"host", "xml:f", "synthetic:pu:2"}) {
    EXPECT_EQ(TopologySource::parse(text)->str(), text);
  }
}

TEST(SourceParse, RefusesEverythingElseByName) {
  for (const char* text : {"", "Host", "xml:", "synthetic:", "file:x", "host "}) {
    const auto source = TopologySource::parse(text);
    ASSERT_FALSE(source) << text;
    EXPECT_EQ(source.error().code, Code::kInvalid);
    EXPECT_NE(source.error().message.find("use host, xml:FILE or synthetic:DESCRIPTION"),
              std::string::npos);
  }
}

TEST(Discover, SaysWhichFileCannotBeRead) {
  const auto missing = discover(*TopologySource::parse("xml:/nonexistent/machine.xml"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "open /nonexistent/machine.xml: ENOENT");
  const auto folder = discover(*TopologySource::parse("xml:/"));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "read /: EISDIR");
}

}  // namespace
}  // namespace corehold
