// SPDX-License-Identifier: Apache-2.0
#include "api/serve/selector.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

Selectable pod_from(std::string_view text) {
  return selectable_of(Resource::kPods, json::parse(text).as_object());
}

bool selects(std::string_view selector, const Selectable& object) {
  const auto parsed = LabelSelector::parse(selector);
  EXPECT_TRUE(parsed) << selector << ": " << parsed.error().message;
  return parsed && parsed->matches(object);
}

std::string label_problem(std::string_view selector) {
  const auto parsed = LabelSelector::parse(selector);
  return parsed ? "" : parsed.error().message;
}

std::string field_problem(std::string_view selector, Resource resource = Resource::kPods) {
  const auto parsed = FieldSelector::parse(selector, resource);
  return parsed ? "" : parsed.error().message;
}

TEST(LabelSelectorOf, ComparesEveryWay) {
  const Selectable web = pod_from(R"({"metadata":{"labels":{"app":"web","cores":"8","in":""}}})");
  for (const char* selector :
       {"", "app=web", "app==web", "app", "!old", "app!=db", "old!=x", "app in (db, web)",
        "app notin (db)", "old notin (a,b)", "cores>4", "cores<9", "in", "in in (,x)",
        "in=", " app = web , cores > 7 ", "app in (web),!old,cores"}) {
    EXPECT_TRUE(selects(selector, web)) << selector;
  }
  for (const char* selector : {"app=db", "!app", "app!=web", "app in (db)", "app notin (db,web)",
                               "cores>8", "old>1", "app>1", "old", "app=web,old", "app="}) {
    EXPECT_FALSE(selects(selector, web)) << selector;
  }
  EXPECT_TRUE(LabelSelector::parse("")->matches_all());
  EXPECT_FALSE(LabelSelector::parse("a")->matches_all());
}

TEST(LabelSelectorOf, SaysWhatIsWrongAsTheApiServerDoes) {
  EXPECT_EQ(label_problem("a===b"), "unable to parse requirement: found '=', expected: identifier");
  EXPECT_EQ(label_problem("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(label_problem("a in b"), "unable to parse requirement: found 'b' expected: '('");
  EXPECT_EQ(label_problem("a in (b"),
            "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(label_problem("a in (b,"),
            "unable to parse requirement: found '', expected: ',', or identifier");
  EXPECT_EQ(label_problem("a in ()"),
            "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' operators, "
            "values set can't be empty");
  EXPECT_EQ(label_problem("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(label_problem("=a"), "found '=', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(label_problem("!a=b"), "found '=', expected: ',' or 'end of string'");
  EXPECT_EQ(label_problem("a>b"),
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' "
            "operators, the value must be an integer");
  EXPECT_THAT(label_problem("a=b/c"), testing::StartsWith("unable to parse requirement: "
                                                          "values[0][a]: Invalid value: \"b/c\": a "
                                                          "valid label must be"));
  EXPECT_THAT(label_problem("/a"),
              testing::StartsWith("unable to parse requirement: key: Invalid value: \"/a\": prefix "
                                  "part must be non-empty"));
}

TEST(FieldSelectorOf, ComparesWhatAResourceOffers) {
  const Selectable pod = pod_from(
      R"({"metadata":{"name":"a","namespace":"n"},"spec":{"nodeName":"h"},"status":{"phase":"Failed"}})");
  const auto matches = [&](std::string_view selector) {
    const auto parsed = FieldSelector::parse(selector, Resource::kPods);
    return parsed && parsed->matches(pod);
  };
  EXPECT_TRUE(matches("metadata.name=a,spec.nodeName==h,status.phase!=Succeeded"));
  EXPECT_TRUE(matches("spec.host=h,spec.hostNetwork=false"));
  EXPECT_FALSE(matches("spec.nodeName=h,status.phase!=Failed"));
  EXPECT_TRUE(matches("status.podIP=,"));
  const Selectable event = selectable_of(
      Resource::kEvents, json::parse(R"({"involvedObject":{"kind":"Node","name":"a,b"},"reason":"R",
                      "reportingComponent":"corehold"})")
                             .as_object());
  const auto about = FieldSelector::parse(
      "involvedObject.kind=Node,involvedObject.namespace=,involvedObject.name=a\\,b,"
      "source=corehold,reason=R",
      Resource::kEvents);
  ASSERT_TRUE(about);
  EXPECT_TRUE(about->matches(event));
}

TEST(FieldSelectorOf, SaysWhatIsWrongAsTheApiServerDoes) {
  EXPECT_EQ(field_problem("status.declaredFeatures=X", Resource::kNodes),
            "field label not supported: status.declaredFeatures");
  EXPECT_EQ(field_problem("metadata.name"),
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
  EXPECT_EQ(field_problem("metadata.name=a=b"),
            "invalid field selector: unescaped character in value: 61");
  EXPECT_EQ(field_problem("metadata.name=a\\b"),
            "invalid field selector: invalid escape sequence: \\b");
  EXPECT_EQ(field_problem("spec.host=x", Resource::kNodes), "field label not supported: spec.host");
}

}  // namespace
}  // namespace corehold
