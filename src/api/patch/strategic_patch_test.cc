// SPDX-License-Identifier: Apache-2.0
#include "api/patch/strategic_patch.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/patch/merge_patch.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

// The result as text, or the HTTP code and the message.
std::string outcome(std::string_view object, std::string_view patch,
                    std::string_view kind = "Pod") {
  const auto result =
      apply_strategic_patch(kind, json::parse(object).as_object(), json::parse(patch));
  return result ? json::serialize(*result)
                : std::to_string(http_code(result.error())) + " " + result.error().message;
}

// The same for what is in the spec.
std::string spec(std::string_view members, std::string_view patch) {
  return outcome("{\"spec\":{" + std::string(members) + "}}",
                 "{\"spec\":{" + std::string(patch) + "}}");
}

TEST(StrategicPatch, MergesListsByTheirKeys) {
  EXPECT_EQ(spec(R"("containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}])",
                 R"("containers":[{"name":"b","image":"2"}])"),
            R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})");
  EXPECT_EQ(
      spec(R"("containers":[{"name":"a","env":[{"name":"X","value":"1"}],)"
           R"("ports":[{"containerPort":80}],"volumeMounts":[{"mountPath":"/m","name":"v"}]}])",
           R"("containers":[{"name":"a","env":[{"name":"X","value":"2"}],)"
           R"("ports":[{"containerPort":80,"hostPort":1}],)"
           R"("volumeMounts":[{"mountPath":"/m","readOnly":true}]}])"),
      R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"2"}],)"
      R"("ports":[{"containerPort":80,"hostPort":1}],)"
      R"("volumeMounts":[{"mountPath":"/m","name":"v","readOnly":true}]}]}})");
}

TEST(StrategicPatch, ReplacesListsWithoutKeys) {
  EXPECT_EQ(spec(R"("tolerations":[{"key":"a"}])", R"("tolerations":[{"key":"b"}])"),
            R"({"spec":{"tolerations":[{"key":"b"}]}})");
  EXPECT_EQ(outcome(R"({"status":{"declaredFeatures":["A","B"]}})",
                    R"({"status":{"declaredFeatures":["C"]}})", "Node"),
            R"({"status":{"declaredFeatures":["C"]}})");
}

TEST(StrategicPatch, KnowsNodesAndNamespaces) {
  EXPECT_EQ(outcome(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],)"
                    R"("addresses":[{"type":"Hostname","address":"n"}]}})",
                    R"({"status":{"conditions":[{"type":"Ready","status":"False"}],)"
                    R"("addresses":[{"type":"Hostname","address":"m"}]}})",
                    "Node"),
            R"({"status":{"conditions":[{"type":"Ready","status":"False"}],)"
            R"("addresses":[{"type":"Hostname","address":"m"}]}})");
  EXPECT_EQ(outcome(R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":["b"]}})",
                    "Namespace"),
            R"({"metadata":{"finalizers":["b","a"]}})");
  EXPECT_EQ(outcome(R"({"l":[{"name":"a"}]})", R"({"l":[{"name":"b"}]})", "Unheard"),
            R"({"l":[{"name":"b"}]})");
}

TEST(StrategicPatch, NewElementsComeFirstAndServerOnesKeepTheirPlaces) {
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"},{"name":"b"},{"name":"c"}])",
                 R"("volumes":[{"name":"n"},{"name":"b"}])"),
            R"({"spec":{"volumes":[{"name":"n"},{"name":"a"},{"name":"b"},{"name":"c"}]}})");
}

TEST(StrategicPatch, SetsTheOrderThatIsAskedFor) {
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"},{"name":"b"},{"name":"c"}])",
                 R"("$setElementOrder/volumes":[{"name":"c"},{"name":"a"}])"),
            R"({"spec":{"volumes":[{"name":"b"},{"name":"c"},{"name":"a"}]}})");
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"},{"name":"b"}])",
                 R"("$setElementOrder/volumes":[{"name":"a"},{"name":"n"},{"name":"b"}],)"
                 R"("volumes":[{"name":"n"}])"),
            R"({"spec":{"volumes":[{"name":"a"},{"name":"n"},{"name":"b"}]}})");
  EXPECT_EQ(spec("", R"("$setElementOrder/volumes":[{"name":"a"}],"volumes":[{"name":"a"}])"),
            R"({"spec":{"volumes":[{"name":"a"}]}})");
  EXPECT_EQ(spec("", R"("$setElementOrder/volumes":[{"name":"a"}])"), R"({"spec":{}})");
}

TEST(StrategicPatch, DeletesAndReplacesByDirective) {
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"},{"name":"b"}])",
                 R"("volumes":[{"name":"a","$patch":"delete"},{"name":"z","$patch":"delete"}])"),
            R"({"spec":{"volumes":[{"name":"b"}]}})");
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"},{"name":"b"}])",
                 R"("volumes":[{"name":"c"},{"$patch":"replace"}])"),
            R"({"spec":{"volumes":[{"name":"c"}]}})");
  EXPECT_EQ(spec(R"("nodeSelector":{"a":"1"})", R"("nodeSelector":{"$patch":"replace","b":"2"})"),
            R"({"spec":{"nodeSelector":{"b":"2"}}})");
  EXPECT_EQ(spec(R"("nodeSelector":{"a":"1"})", R"("nodeSelector":{"$patch":"delete"})"),
            R"({"spec":{"nodeSelector":{}}})");
  EXPECT_EQ(outcome(R"({"metadata":{"finalizers":["a","b","c"]}})",
                    R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})"),
            R"({"metadata":{"finalizers":["a","c"]}})");
}

TEST(StrategicPatch, RetainsOnlyTheKeysSaid) {
  EXPECT_EQ(spec(R"("volumes":[{"name":"a","hostPath":{"path":"/p"}}])",
                 R"("volumes":[{"name":"a","emptyDir":{},"$retainKeys":["name","emptyDir"]}])"),
            R"({"spec":{"volumes":[{"name":"a","emptyDir":{}}]}})");
  EXPECT_EQ(spec(R"("volumes":[{"name":"a"}])",
                 R"("volumes":[{"name":"a","emptyDir":{},"$retainKeys":["name"]}])"),
            "400 invalid patch format of retainKeys");
}

TEST(StrategicPatch, LeavesNoDirectiveAndNoNullInWhatIsNew) {
  EXPECT_EQ(spec("", R"("volumes":[{"name":"a","emptyDir":{"medium":null},)"
                     R"("$retainKeys":["name","emptyDir"]},{"name":"b","$patch":"delete"}],)"
                     R"("securityContext":{"x":null})"),
            R"({"spec":{"volumes":[{"name":"a","emptyDir":{}}],"securityContext":{}}})");
}

TEST(StrategicPatch, SaysWhatIsWrongAsKubernetesDoes) {
  EXPECT_EQ(
      spec(R"("containers":[{"name":"a"}])", R"("containers":[{"name":"a","$patch":"merge"}])"),
      "500 merging lists cannot yet be specified in the patch");
  EXPECT_EQ(spec(R"("nodeSelector":{"a":"1"})", R"("nodeSelector":{"$patch":"merge"})"),
            "500 unknown patch type: merge in map: map[$patch:merge]");
  EXPECT_EQ(spec(R"("containers":[{"name":"a"}])", R"("containers":["x"])"),
            "500 list element types are not identical: [[map[name:a]] [x]]");
  EXPECT_EQ(spec(R"("containers":[{"name":"a"}])", R"("containers":[[]])"),
            "422 lists of lists are not supported");
  EXPECT_EQ(spec(R"("containers":[{"name":"a"}])", R"("$setElementOrder/containers":1)"),
            "500 expected a []interface {}, but received a int64");
  EXPECT_EQ(spec(R"("containers":[{"name":"a"}])", R"("$setElementOrder":[])"),
            "400 invalid patch format of setElementOrder list");
  EXPECT_EQ(
      spec(R"("containers":[{"name":"a"}])", R"("$deleteFromPrimitiveList/containers":["a"])"),
      "400 invalid patch format of primitive list");
  EXPECT_EQ(outcome("{}", "[]"),
            "400 json: cannot unmarshal array into Go value of type map[string]interface {}");
  EXPECT_EQ(outcome(R"({"a":1})", "null"), R"({"a":1})");
}

TEST(StrategicPatch, TakesLittleTimeForLongLists) {
  json::array containers;
  json::array order;
  for (int i = 0; i < 20'000; ++i) {
    containers.push_back(json::object{{"name", std::to_string(i)}, {"image", "x"}});
    order.push_back(json::object{{"name", std::to_string(i)}});
  }
  const json::object pod{{"spec", {{"containers", containers}}}};
  const json::object patch{
      {"spec", {{"containers", containers}, {"$setElementOrder/containers", order}}}};
  const auto result = apply_strategic_patch("Pod", pod, patch);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, pod);
}

TEST(MergePatch, MergesObjectsRemovesNullsAndReplacesTheRest) {
  const auto merged = [](std::string_view object, std::string_view patch) {
    const auto result = apply_merge_patch(json::parse(object).as_object(), json::parse(patch));
    return result ? json::serialize(*result) : result.error().message;
  };
  // The examples of RFC 7386 whose target is an object.
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(merged("{}", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
  EXPECT_EQ(merged(R"({"a":"foo"})", R"(["c"])"),
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}");
}

TEST(GoText, IsCutWhereItWouldBeLongerThanAnybodyReads) {
  EXPECT_EQ(go_text(json::parse(R"({"b":[1,true,null],"a":{"x":1.5}})")),
            "map[a:map[x:1.5] b:[1 true <nil>]]");
  const std::string text = go_text(json::value(json::array(100'000, "ä")));
  EXPECT_LT(text.size(), kMaxShownText + 4);
  EXPECT_TRUE(text.ends_with("..."));
}

}  // namespace
}  // namespace corehold
