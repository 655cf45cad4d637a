// SPDX-License-Identifier: Apache-2.0
#include "cli/yaml_text.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pod/yaml_document.h"

namespace corehold {
namespace {

namespace json = boost::json;

TEST(YamlText, IsReadable) {
  EXPECT_EQ(yaml_text(json::parse(R"({"kind": "Pod", "metadata": {"name": "web", "labels": {}},
                                      "list": [1, "two", {"three": 3, "four": true}], "none": null,
                                      "empty": []})")),
            "kind: Pod\n"
            "metadata:\n"
            "  name: web\n"
            "  labels: {}\n"
            "list:\n"
            "  - 1\n"
            "  - two\n"
            "  - three: 3\n"
            "    four: true\n"
            "none: null\n"
            "empty: []\n");
}

TEST(YamlText, QuotesWhatSomeReaderWouldTakeForSomethingElse) {
  for (const char* text :
       {"",     "yes",   "No",       "on",         "y",  "true",    "NULL", "~",   "1",   "1e3",
        "0x1f", "1_000", "12:30:45", "2026-11-16", ".5", "+1",      "-1",   "=",   "<<",  "- a",
        "a: b", "a #b",  "{",        "[",          "*a", "&a",      "!a",   "%a",  "@a",  "`a",
        "\"",   "'",     "a\nb",     " a",         "a ", "\x1b[2J", "\t",   "0-3", "2Gi", "null"}) {
    const json::value value(text);
    const std::string yaml = yaml_text(json::object{{"key", value}, {text, 1}});
    const auto back = parse_yaml(yaml);
    ASSERT_TRUE(back) << yaml << back.error().message;
    EXPECT_EQ(back->front().at("key"), value) << yaml;
    EXPECT_EQ(back->front().at(text), 1) << yaml;
  }
  EXPECT_EQ(yaml_text("yes"), "\"yes\"\n");
  EXPECT_EQ(yaml_text("/bin/sh"), "/bin/sh\n");
}

json::value any_value(int depth) {
  const auto text = [] {
    return *rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::inRange<char>(1, 127), rc::gen::element('a', ':', ' ', '#', '-')));
  };
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::arbitrary<std::int64_t>();
    case 3:
    case 4:
      return json::value(text());
    case 5: {
      json::array list;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) list.push_back(any_value(depth - 1));
      return list;
    }
    default: {
      json::object object;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object[text()] = any_value(depth - 1);
      return object;
    }
  }
}

RC_GTEST_PROP(YamlText, ComesBackAsItWent, ()) {
  const json::value value = json::object{{"value", any_value(4)}};
  const auto back = parse_yaml(yaml_text(value));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(back->front() == value);
}

}  // namespace
}  // namespace corehold
