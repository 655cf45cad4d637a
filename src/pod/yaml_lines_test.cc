// SPDX-License-Identifier: Apache-2.0
//
// YAML with lines: every value knows where it stands, and a key given twice does not end
// the reading.
#include <string>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pod/yaml_document.h"

namespace corehold {
namespace {

// "1[2,3[4]]": the lines of a value, those inside it in brackets.
std::string shape(const YamlLines& lines) {
  std::string text = fmt::to_string(lines.line);
  if (lines.inner.empty()) return text;
  text += '[';
  for (const YamlLines& inner : lines.inner) text += shape(inner) + ",";
  text.back() = ']';
  return text;
}

std::string lines_of(std::string_view text) {
  const YamlStream stream = parse_yaml_with_lines(text);
  return stream.documents.empty() ? "nothing" : shape(stream.documents.front().lines);
}

TEST(YamlLines, FollowTheShapeOfTheValue) {
  EXPECT_EQ(lines_of("a: 1\nb:\n  - x\n  -\n    c: 2\nd:\n"), "1[1,2[3,5[5]],6]");
  EXPECT_EQ(lines_of("\n\n{a: [1,\n 2], b: }\n"), "3[3[3,4],4]");
  EXPECT_EQ(lines_of("# nothing\n---\n\nx"), "4");
}

TEST(YamlLines, OfAnAliasAreThoseOfItsAnchor) {
  EXPECT_EQ(lines_of("a: &x\n  b: 1\nc: *x\n"), "1[1[2],3[2]]");
}

TEST(YamlLines, OfMergedMembersAreThoseOfTheirSource) {
  const YamlStream stream =
      parse_yaml_with_lines("a: &x\n  b: 1\n  c: 2\nd:\n  c: 3\n  <<: *x\n  e: 4\n");
  ASSERT_EQ(stream.documents.size(), 1U);
  EXPECT_EQ(boost::json::serialize(stream.documents[0].value),
            R"({"a":{"b":1,"c":2},"d":{"c":3,"e":4,"b":1}})");
  EXPECT_EQ(shape(stream.documents[0].lines), "1[1[2,3],4[5,7,2]]");
}

TEST(YamlLines, AListOfMergesKeepsTheLinesOfEach) {
  EXPECT_EQ(lines_of("a: &x\n  b: 1\nc: &y\n  d: 1\ne:\n  <<: [*x, *y]\n"), "1[1[2],3[4],5[2,4]]");
}

TEST(YamlProblems, AKeyGivenTwiceKeepsItsFirstValue) {
  const YamlStream stream = parse_yaml_with_lines("a: 1\na: {b: 2}\nc: 3\nc: 4\n---\nd: 5\n");
  ASSERT_EQ(stream.problems.size(), 2U);
  EXPECT_EQ(stream.problems[0].line, 2);
  EXPECT_EQ(stream.problems[0].message, "key \"a\" is given twice");
  EXPECT_EQ(stream.problems[1].line, 4);
  ASSERT_EQ(stream.documents.size(), 2U);
  EXPECT_EQ(boost::json::serialize(stream.documents[0].value), R"({"a":1,"c":3})");
  EXPECT_EQ(shape(stream.documents[0].lines), "1[1,3]");
}

TEST(YamlProblems, AnyOtherEndsTheReadingButKeepsWhatWasDone) {
  const YamlStream stream = parse_yaml_with_lines("a: 1\n---\nb: [1\nc: 2\n---\nd: 3\n");
  ASSERT_EQ(stream.problems.size(), 1U);
  EXPECT_GE(stream.problems[0].line, 3);
  ASSERT_EQ(stream.documents.size(), 1U);
  EXPECT_EQ(boost::json::serialize(stream.documents[0].value), R"({"a":1})");

  const YamlStream bytes = parse_yaml_with_lines(std::string_view("a: 1\nb: \0\n", 10));
  ASSERT_EQ(bytes.problems.size(), 1U);
  EXPECT_EQ(bytes.problems[0].line, 2);
  EXPECT_EQ(bytes.problems[0].message, "byte 0x00 is not UTF-8 text");

  const YamlStream large = parse_yaml_with_lines(std::string(10'000'000, 'x'));
  ASSERT_EQ(large.problems.size(), 1U);
  EXPECT_EQ(large.problems[0].line, 0);
}

}  // namespace
}  // namespace corehold
