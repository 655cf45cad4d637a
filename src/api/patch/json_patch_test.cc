// SPDX-License-Identifier: Apache-2.0
#include "api/patch/json_patch.h"

#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/patch/patch_body.h"

namespace corehold {
namespace {

namespace json = boost::json;

ApiResult<json::object> patched(std::string_view object, std::string_view patch) {
  return apply_json_patch(json::parse(object).as_object(), json::parse(patch));
}

// The result as text, or "400", "413", "422".
std::string after(std::string_view object, std::string_view patch) {
  const auto result = patched(object, patch);
  return result ? json::serialize(*result) : std::to_string(http_code(result.error()));
}

TEST(JsonPatch, AddsReplacesRemovesMovesAndCopies) {
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]}])"), R"({"a":1,"b":[1]})");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])"), R"({"a":null})");
  EXPECT_EQ(after(R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])"),
            R"({"b":2,"c":3})");
  EXPECT_EQ(after(R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])"),
            R"({"a":{},"b":{"y":1}})");
  EXPECT_EQ(after(R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/b"}])"),
            R"({"a":{"x":1},"b":{"x":1}})");
}

TEST(JsonPatch, FindsPlacesInLists) {
  const auto add = [](const char* index) {
    return after(R"({"l":[1,2]})",
                 R"([{"op":"add","path":"/l/)" + std::string(index) + R"(","value":9}])");
  };
  EXPECT_EQ(add("0"), R"({"l":[9,1,2]})");
  EXPECT_EQ(add("2"), R"({"l":[1,2,9]})");
  EXPECT_EQ(add("-"), R"({"l":[1,2,9]})");
  EXPECT_EQ(add("-1"), R"({"l":[1,2,9]})");
  EXPECT_EQ(add("3"), "422");
  EXPECT_EQ(add("x"), "422");
  EXPECT_EQ(add("1x"), "422");
  EXPECT_EQ(add("99999999999999999999"), "422");
  EXPECT_EQ(after(R"({"l":[1,2]})", R"([{"op":"remove","path":"/l/-1"}])"), R"({"l":[1]})");
  EXPECT_EQ(after(R"({"l":[1,2]})", R"([{"op":"replace","path":"/l/2","value":1}])"), "422");
  EXPECT_EQ(after(R"({"l":[1,[2]]})", R"([{"op":"replace","path":"/l/1/0","value":3}])"),
            R"({"l":[1,[3]]})");
  EXPECT_EQ(after(R"({"l":[1]})", R"([{"op":"remove","path":"/l/-"}])"), "422");
}

TEST(JsonPatch, UnderstandsEscapesInPointers) {
  EXPECT_EQ(after(R"({"a/b":1,"m~n":2})",
                  R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"}])"),
            "{}");
  EXPECT_EQ(after(R"({"~1":1})", R"([{"op":"remove","path":"/~01"}])"), "{}");
  EXPECT_EQ(after(R"({"":1})", R"([{"op":"remove","path":"/"}])"), "{}");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"remove","path":"/~2"}])"), "422");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"remove","path":"/a~"}])"), "422");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"remove","path":"a"}])"), "422");
}

TEST(JsonPatch, TestsTakeWhatIsNotThereForNull) {
  EXPECT_EQ(after(R"({"a":{"x":1}})", R"([{"op":"test","path":"/a","value":{"x":1}}])"),
            R"({"a":{"x":1}})");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])"), R"({"a":1})");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"test","path":"/b","value":1}])"), "422");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"test","path":"/b/c","value":null}])"), "422");
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"test","path":"","value":{"a":1}}])"), R"({"a":1})");
}

TEST(JsonPatch, IsAllOrNothingAndInOrder) {
  const json::object object{{"a", 1}};
  const auto result = apply_json_patch(
      object, json::parse(R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])"));
  EXPECT_FALSE(result);
  EXPECT_EQ(object.at("a"), 1);
  EXPECT_EQ(after(R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"},
                                    {"op":"copy","from":"/b","path":"/a"}])"),
            R"({"b":1,"a":1})");
}

TEST(JsonPatch, RefusesWhatIsIncompleteOrMovesIntoItself) {
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"add","path":"/b"}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"add","value":1}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"move","path":"/b"}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"path":"/b","value":1}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a"}])"), R"({"a":{}})");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"remove","path":""}])"), "422");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"replace","path":"","value":{"b":1}}])"), R"({"b":1})");
  EXPECT_EQ(after(R"({"a":{}})", R"([{"op":"replace","path":"","value":[]}])"), "422");
}

TEST(JsonPatch, NamesTheTypeThatIsNoListOfOperations) {
  const auto message = [](std::string_view patch) {
    const auto result = patched("{}", patch);
    return result ? "" : std::to_string(http_code(result.error())) + " " + result.error().message;
  };
  EXPECT_EQ(message(R"("x")"),
            "400 error decoding patch: json: cannot unmarshal string into Go value of type "
            "[]handlers.jsonPatchOp");
  EXPECT_EQ(message("[1]"),
            "400 error decoding patch: json: cannot unmarshal number into Go value of type "
            "handlers.jsonPatchOp");
  EXPECT_EQ(message(R"([{"op":1}])"),
            "400 error decoding patch: json: cannot unmarshal number into Go struct field "
            "jsonPatchOp.op of type string");
  EXPECT_EQ(message("null"), "");
}

// ---- bounds

TEST(JsonPatchBounds, RefuseTooManyOperations) {
  json::array patch;
  for (std::size_t i = 0; i <= kMaxJsonPatchOperations; ++i) {
    patch.push_back(json::object{{"op", "test"}, {"path", "/a"}, {"value", 1}});
  }
  const auto result = apply_json_patch({{"a", 1}}, patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(http_code(result.error()), 413);
  EXPECT_EQ(result.error().message,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
            "got 10001");
  patch.pop_back();
  EXPECT_TRUE(apply_json_patch({{"a", 1}}, patch));
}

TEST(JsonPatchBounds, StopAnObjectThatDoublesByCopies) {
  json::array patch{json::object{{"op", "add"}, {"path", "/a"}, {"value", std::string(1000, 'x')}}};
  patch.push_back(json::object{{"op", "add"}, {"path", "/l"}, {"value", json::array()}});
  patch.push_back(json::object{{"op", "add"}, {"path", "/l/-"}, {"value", "x"}});
  for (int i = 0; i < 40; ++i) {
    patch.push_back(json::object{{"op", "copy"}, {"from", "/l"}, {"path", "/m"}});
    patch.push_back(json::object{{"op", "copy"}, {"from", "/a"}, {"path", "/l/-"}});
    patch.push_back(json::object{{"op", "copy"}, {"from", "/m"}, {"path", "/l/0"}});
  }
  const auto result = apply_json_patch({}, patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(http_code(result.error()), 422);
}

TEST(JsonPatchBounds, StopWhatGrowsDeeperThanABodyMayBe) {
  json::array patch{json::object{{"op", "add"}, {"path", "/a"}, {"value", json::object()}}};
  std::string path = "/a";
  for (int i = 0; i < 100; ++i) {
    path += "/a";
    patch.push_back(json::object{{"op", "add"}, {"path", path}, {"value", json::object()}});
  }
  EXPECT_FALSE(apply_json_patch({}, patch));
  patch.resize(kMaxPatchDepth - 1);
  const auto deep = apply_json_patch({}, patch);
  ASSERT_TRUE(deep) << deep.error().message;
  EXPECT_EQ(depth_of(*deep), kMaxPatchDepth);
}

TEST(JsonPatchBounds, StopWorkThatGrowsWithTheSquareOfTheBody) {
  json::array patch{
      json::object{{"op", "add"}, {"path", "/l"}, {"value", json::array(100'000, 0)}}};
  for (std::size_t i = 1; i < kMaxJsonPatchOperations; ++i) {
    patch.push_back(json::object{{"op", "add"}, {"path", "/l/0"}, {"value", 1}});
  }
  const auto result = apply_json_patch({}, patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(http_code(result.error()), 422);
}

TEST(PatchBody, RefusesWhatIsTooLongTooDeepOrNoJson) {
  const auto code = [](std::string_view body) {
    const auto value = parse_patch_body(body);
    return value ? 200 : http_code(value.error());
  };
  EXPECT_EQ(code(R"({"a":[1]})"), 200);
  EXPECT_EQ(code(std::string(kMaxPatchBytes + 1, ' ')), 413);
  EXPECT_EQ(code(std::string(1000, '[') + std::string(1000, ']')), 400);
  EXPECT_EQ(code("{"), 400);
  EXPECT_EQ(code("{} {}"), 400);
  EXPECT_EQ(code("{\"a\":\"\xff\"}"), 400);
}

}  // namespace
}  // namespace corehold
