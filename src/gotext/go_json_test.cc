// SPDX-License-Identifier: Apache-2.0
#include "gotext/go_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

std::string escaped(std::string_view text) {
  GoJsonWriter out(0);
  out.text(text);
  return out.str();
}

std::string text_of(std::string_view bytes) {
  const auto value = parse_go_json(bytes);
  return value ? value->text : "error: " + value.error().message;
}

TEST(GoJsonParse, KeepsDuplicateKeysInOrder) {
  const auto value = parse_go_json(R"({"a":"1","b":{"c":null},"a":"2"})");
  ASSERT_TRUE(value) << value.error().message;
  ASSERT_EQ(value->members.size(), 3U);
  EXPECT_EQ(value->members[0].value.text, "1");
  EXPECT_EQ(value->members[1].value.members[0].key, "c");
  EXPECT_EQ(value->members[2].value.text, "2");
}

TEST(GoJsonParse, SkipsWhatArraysHold) {
  const auto value = parse_go_json(R"({"a":[{"x":[1,"s",{}]},[]],"b":"2"})");
  ASSERT_TRUE(value) << value.error().message;
  ASSERT_EQ(value->members.size(), 2U);
  EXPECT_EQ(value->members[0].value.kind, JsonValue::Kind::kArray);
  EXPECT_EQ(value->members[1].key, "b");
  EXPECT_EQ(value->members[1].value.text, "2");
}

TEST(GoJsonParse, KeepsNumbersAsWritten) {
  EXPECT_EQ(text_of("18446744073709551616"), "18446744073709551616");
  EXPECT_EQ(text_of("-0"), "-0");
  EXPECT_EQ(text_of("1.50e3"), "1.50e3");
}

TEST(GoJsonParse, ReadsInvalidUtf8AndLoneSurrogatesAsReplacements) {
  EXPECT_EQ(text_of("\"a\xff\xe2\x80z\""), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_EQ(text_of(R"("\ud800")"), "\xef\xbf\xbd");
  EXPECT_EQ(text_of(R"("\udc00x")"), "\xef\xbf\xbdx");
  EXPECT_EQ(text_of(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of(R"("\ud800\ud83d\ude00")"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of(R"("\\ud800")"), "\\ud800");
}

TEST(GoJsonParse, RefusesWhatIsNoJson) {
  EXPECT_EQ(text_of(""), "error: unexpected end of JSON input");
  EXPECT_EQ(text_of("{\"a\":"), "error: unexpected end of JSON input");
  EXPECT_EQ(text_of("{}x"), "error: invalid character at byte 2 after top-level value");
  EXPECT_FALSE(parse_go_json("hello"));
  EXPECT_FALSE(parse_go_json("\"a\nb\""));
  EXPECT_TRUE(parse_go_json(" {} \n"));
}

TEST(GoJsonParse, BoundsTheDepth) {
  EXPECT_TRUE(parse_go_json(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']')));
  EXPECT_FALSE(parse_go_json(std::string(100'000, '[')));
}

TEST(GoJsonField, MatchesInEitherCaseAndUnicodeFolds) {
  EXPECT_TRUE(is_go_field("CHECKSUM", "checksum"));
  EXPECT_TRUE(is_go_field("chec\xe2\x84\xaa\xc5\xbfum", "checksum"));
  EXPECT_FALSE(is_go_field("checksums", "checksum"));
  EXPECT_FALSE(is_go_field("checksu", "checksum"));
}

TEST(GoJsonWriter, EscapesLikeGo) {
  EXPECT_EQ(escaped("plain-\xc3\xbc"), "\"plain-\xc3\xbc\"");
  EXPECT_EQ(escaped("a<b>&\"\\"), R"("a\u003cb\u003e\u0026\"\\")");
  EXPECT_EQ(escaped("\b\f\n\r\t\x01\x7f"), "\"\\b\\f\\n\\r\\t\\u0001\x7f\"");
  EXPECT_EQ(escaped("\xe2\x80\xa8\xe2\x80\xa9"), R"("\u2028\u2029")");
  EXPECT_EQ(escaped("\xff\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

TEST(GoJsonWriter, GrowsAsItIsWritten) {
  GoJsonWriter out(1);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    out.raw("{");
    out.text(std::string(7, '<'));
    expected += R"({"\u003c\u003c\u003c\u003c\u003c\u003c\u003c")";
  }
  EXPECT_EQ(out.view(), expected);
  EXPECT_EQ(out.str(), expected);
}

RC_GTEST_PROP(GoJsonWriter, QuotesItsOwnJsonLikeAnyText, ()) {
  const std::string json = escaped(*rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
  GoJsonWriter out(0);
  out.json_as_text(json);
  RC_ASSERT(out.str() == escaped(json));
}

RC_GTEST_PROP(GoJsonWriter, WritesWhatTheParserReads, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(text_of(escaped(text)) == text);
  const auto any = *rc::gen::arbitrary<std::string>();
  const std::string once = text_of(escaped(any));
  RC_ASSERT(text_of(escaped(once)) == once);
}

TEST(GoQuoted, IsWhatPercentQShows) {
  EXPECT_EQ(go_quoted("static"), "\"static\"");
  EXPECT_EQ(go_quoted("a\"b\\\n\a\x01\xff"), R"("a\"b\\\n\a\x01\xff")");
  EXPECT_EQ(go_quoted("\xc3\xbc\xc2\x80"), "\"\xc3\xbc\\u0080\"");
}

}  // namespace
}  // namespace corehold
