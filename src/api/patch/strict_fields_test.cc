// SPDX-License-Identifier: Apache-2.0
#include "api/patch/strict_fields.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/object/typed_reader.h"
#include "gotext/go_json_syntax.h"

namespace corehold {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ReadObject : public testing::Test {
 protected:
  // The object as text, or the message of the failure.
  std::string read(std::string_view body, FieldValidation validation = FieldValidation::kWarn,
                   std::string_view kind = "Pod") {
    warnings_.clear();
    const auto object = read_object(kind, body, validation, warnings_);
    return object ? json::serialize(*object) : object.error().message;
  }

  // What is read for a spec.
  std::string spec(std::string_view text) {
    std::string all = read(R"({"spec":)" + std::string(text) + "}");
    constexpr std::string_view kBefore = R"({"kind":"Pod","apiVersion":"v1","metadata":{},"spec":)";
    if (!all.starts_with(kBefore)) return all;
    const std::size_t end = all.rfind(R"(,"status")");
    return all.substr(kBefore.size(), end - kBefore.size());
  }

  std::vector<std::string> warnings_{};
};

TEST_F(ReadObject, WritesFieldsInTheirOrderAndLeavesOutWhatIsEmpty) {
  EXPECT_EQ(spec(R"({"hostname":"","hostPID":false,"nodeName":"n","priority":0,"volumes":[],
                  "containers":[{"tty":true,"image":"i","env":null,"name":"c"}]})"),
            R"({"containers":[{"name":"c","image":"i","resources":{},"tty":true}],)"
            R"("nodeName":"n","priority":0})");
  EXPECT_EQ(spec("{}"), R"({"containers":null})");
  EXPECT_EQ(read(""), R"(the object provided is unrecognized (must be of type Pod): couldn't get )"
                      R"(version/kind; json parse error: unexpected end of JSON input (<empty>))");
}

TEST_F(ReadObject, TakesNullForAbsentAndInListsForEmpty) {
  EXPECT_EQ(
      spec(R"({"containers":[null],"nodeSelector":{"b":null,"a":"x"},"overhead":{"cpu":null}})"),
      R"({"containers":[{"name":"","resources":{}}],"nodeSelector":{"a":"x","b":""},)"
      R"("overhead":{"cpu":"0"}})");
}

TEST_F(ReadObject, MakesQuantitiesCanonicalAndTimesUtc) {
  EXPECT_EQ(spec(R"({"containers":null,"overhead":{"b":" 0.5 ","a":2,"c":1.5,"d":"1e3"}})"),
            R"({"containers":null,"overhead":{"a":"2","b":"500m","c":"1500m","d":"1e3"}})");
  EXPECT_THAT(read(R"({"metadata":{"deletionTimestamp":"2026-11-16T01:00:00.5+01:00"}})"),
              HasSubstr(R"("deletionTimestamp":"2026-11-16T00:00:00Z")"));
  EXPECT_EQ(read(R"({"metadata":{"deletionTimestamp":"soon"}})"),
            R"(Pod in version "v1" cannot be handled as a Pod: parsing time "soon" as )"
            R"("2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006")");
}

TEST_F(ReadObject, NamesTheFieldOfAWrongTypeAsGoDoes) {
  const std::string before = R"(Pod in version "v1" cannot be handled as a Pod: json: cannot )"
                             R"(unmarshal )";
  EXPECT_EQ(spec(R"({"containers":[{"name":"a"},{"ports":[{"containerPort":"80"}]}]})"),
            before +
                "string into Go struct field ContainerPort.spec.containers.ports.containerPort "
                "of type int32");
  EXPECT_EQ(spec(R"({"terminationGracePeriodSeconds":1.5})"),
            before +
                "number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds "
                "of type int64");
  EXPECT_EQ(spec(R"({"restartPolicy":{}})"),
            before +
                "object into Go struct field PodSpec.spec.restartPolicy of type "
                "v1.RestartPolicy");
  EXPECT_EQ(read(R"({"metadata":{"labels":{"a":1}}})"),
            before + "number into Go struct field ObjectMeta.metadata.labels of type string");
  EXPECT_EQ(read(R"({"metadata":[]})"),
            before + "array into Go struct field Pod.metadata of type v1.ObjectMeta");
}

TEST_F(ReadObject, TellsABadQuantityBeforeAWrongType) {
  EXPECT_THAT(spec(R"({"hostname":1,"containers":[{"resources":{"limits":{"cpu":"x"}}}]})"),
              HasSubstr("quantities must match the regular expression"));
}

TEST_F(ReadObject, WarnsOfUnknownAndDuplicateFieldsOrRefusesThem) {
  const std::string body =
      R"({"metadata":{"name":"a","name":"b"},"spec":{"containers":[{"x":{"y":1,"y":2}}],"z":1}})";
  read(body);
  EXPECT_THAT(warnings_,
              ElementsAre(R"(unknown field "spec.containers[0].x")", R"(unknown field "spec.z")",
                          R"(duplicate field "metadata.name")"));
  EXPECT_EQ(read(body, FieldValidation::kStrict),
            R"(Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown )"
            R"(field "spec.containers[0].x", unknown field "spec.z", duplicate field )"
            R"("metadata.name")");
  EXPECT_THAT(read(body, FieldValidation::kIgnore), HasSubstr(R"("metadata":{"name":"b"})"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ReadObject, RefusesOtherKindsAndVersions) {
  EXPECT_EQ(
      read(R"({"kind":"Thing"})"),
      R"(Thing in version "v1" cannot be handled as a Pod: no kind "Thing" is registered for )"
      R"(version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30")");
  EXPECT_EQ(read(R"({"kind":"Pod","apiVersion":"v2"})"),
            R"(Pod in version "v2" cannot be handled as a Pod: no kind "Pod" is registered for )"
            R"(version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30")");
  EXPECT_THAT(read(R"({"kind":1})"),
              HasSubstr("json: cannot unmarshal number into Go struct field .kind of type string "
                        "({\"kind\":1})"));
  EXPECT_THAT(read("[1]"), HasSubstr("json: cannot unmarshal array into Go value of type struct"));
}

TEST_F(ReadObject, StaysSmallWhateverIsSent) {
  std::string many = R"({"spec":{"containers":[{})";
  while (many.size() < (2U << 20U)) many += ",{}";
  EXPECT_THAT(read(many + "]}}"), HasSubstr("an object may consist of 30000 values"));
  EXPECT_THAT(read(std::string(4U << 20U, ' ')), HasSubstr("Request entity too large"));
  EXPECT_THAT(read(std::string(1000, '[') + std::string(1000, ']')),
              HasSubstr("exceeded max depth"));
}

TEST(FieldValidationOfTheQuery, IsOneOfThree) {
  EXPECT_EQ(*field_validation("", "CreateOptions"), FieldValidation::kWarn);
  EXPECT_EQ(*field_validation("Strict", "CreateOptions"), FieldValidation::kStrict);
  const auto wrong = field_validation("Maybe", "PatchOptions");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            R"(PatchOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: )"
            R"("Maybe": supported values: "", "Ignore", "Strict", "Warn")");
  EXPECT_EQ(http_code(wrong.error()), 422);
}

TEST(ReadPatched, ShowsThePatchOrWhatItHasMade) {
  std::vector<std::string> warnings;
  const json::object patched =
      json::parse(R"({"spec":{"nodeName":1,"hostname":"h"},"metadata":{"uid":"u","name":"n"}})")
          .as_object();
  const auto message = [&](PatchKind kind) {
    const PatchRequest request{.kind = kind, .body = R"({"spec":{"nodeName":1}})"};
    const auto read = read_patched("Pod", patched, request, FieldValidation::kWarn, warnings);
    return read ? "" : read.error().message;
  };
  const std::string why =
      ": json: cannot unmarshal number into Go struct field PodSpec.spec.nodeName of type string";
  EXPECT_EQ(message(PatchKind::kStrategic),
            R"( "" is invalid: patch: Invalid value: "map[spec:map[nodeName:1]]")" + why);
  EXPECT_EQ(
      message(PatchKind::kMerge),
      R"( "" is invalid: patch: Invalid value: "{\"metadata\":{\"uid\":\"u\",\"name\":\"n\"},)"
      R"(\"spec\":{\"hostname\":\"h\",\"nodeName\":1}}")" +
          why);
}

TEST(GoJsonProblem, SaysWhatGoSays) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"nonsense", "invalid character 'o' in literal null (expecting 'u')"},
      {"", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"{a", "invalid character 'a' looking for beginning of object key string"},
      {R"({"a" 1})", "invalid character '1' after object key"},
      {R"({"a":1 "b"})", "invalid character '\"' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{} x", "invalid character 'x' after top-level value"},
      {"-a", "invalid character 'a' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"\"\n\"", "invalid character '\\n' in string literal"},
      {R"("\x")", "invalid character 'x' in string escape code"},
      {R"("\u12g4")", "invalid character 'g' in \\u hexadecimal character escape"},
      {R"({"a":[1,2.5e-3,{"b":null}],"c":true})", ""},
  };
  for (const auto& [text, problem] : cases) EXPECT_EQ(go_json_problem(text), problem) << text;
}

}  // namespace
}  // namespace corehold
