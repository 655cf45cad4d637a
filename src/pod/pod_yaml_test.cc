// SPDX-License-Identifier: Apache-2.0
#include "pod/pod_yaml.h"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

using testing::HasSubstr;

// The first document as JSON, or the error.
std::string json_of(std::string_view text) {
  const auto documents = parse_yaml(text);
  if (!documents) return documents.error().message;
  return documents->empty() ? "nothing" : boost::json::serialize(documents->at(0));
}

TEST(YamlScalar, IsTypedAsKubernetesTypesIt) {
  EXPECT_EQ(json_of("[yes, No, on, true, y]"), "[true,false,true,true,true]");
  EXPECT_EQ(json_of("[~, null, '', , x]"), R"([null,null,"",null,"x"])");
  EXPECT_EQ(json_of("[2, -3, +4, 0x10, 020, 0b11, 1_000, 18446744073709551615]"),
            "[2,-3,4,16,16,3,1000,18446744073709551615]");
  EXPECT_EQ(json_of("[2.0, 1e3, 08, 1e400, 1.2.3, 500m]"), R"([2,1000,8,"1e400","1.2.3","500m"])");
  EXPECT_EQ(json_of("['2', \"yes\", 2001-01-01, !!str 7]"), R"(["2","yes","2001-01-01","7"])");
  EXPECT_EQ(json_of("{1: a, yes: b, 'no': c}"), R"({"1":"a","true":"b","no":"c"})");
}

TEST(YamlScalar, IsRefusedWhereJsonHasNoPlaceForIt) {
  EXPECT_EQ(json_of("a:\n  b: .inf"), "YAML: line 2: .inf has no place in JSON; quote it");
  EXPECT_THAT(json_of("!!binary abc"), HasSubstr("cannot have the tag"));
  EXPECT_THAT(json_of("!!int abc"), HasSubstr("cannot have the tag"));
  EXPECT_THAT(json_of("{[a]: b}"), HasSubstr("a key must be a single word"));
}

TEST(YamlDocument, ExpandsAliasesAndMergeKeys) {
  EXPECT_EQ(json_of("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}"),
            R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"q":3,"p":1}})");
}

TEST(YamlDocument, RefusesAKeyGivenTwice) {
  EXPECT_EQ(json_of("a: 1\nb: 2\na: 3"), "YAML: line 3: key \"a\" is given twice");
}

TEST(YamlDocument, RefusesTextBehindTheEndOfADocument) {
  EXPECT_THAT(json_of("{a: b} }"), HasSubstr("YAML: line 1: "));
  EXPECT_THAT(json_of("{a: {b: 1\"c\":2}}}"), HasSubstr("YAML: line 1: "));
}

TEST(YamlDocument, RefusesABomb) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_THAT(json_of(bomb), HasSubstr("anchors and aliases expand to more than 100000 values"));
  EXPECT_THAT(json_of("a: &a [*a]"), HasSubstr("an alias inside what it names"));
}

TEST(YamlDocument, RefusesDeepNestingAndGarbageAtOnce) {
  EXPECT_THAT(json_of(std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(json_of(std::string(100'000, '[')), HasSubstr("YAML: line 1: "));
  EXPECT_EQ(json_of("a\n\x01"), "YAML: line 2: byte 0x01 is not UTF-8 text");
  EXPECT_THAT(json_of("a: \"\xc0\xaf\""), HasSubstr("byte 0xc0 is not UTF-8 text"));
  EXPECT_THAT(json_of(std::string(10'000'000, '[')),
              HasSubstr("10000000 bytes are more than the limit"));
}

constexpr std::string_view kStream = R"(# two pods and nothing
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: main
    resources:
      limits: {cpu: 2, memory: 1Gi}
---
---
kind: List
items:
- metadata: {name: b}
  spec: {containers: [{name: c, resources: {requests: {cpu: "0.5"}}}]}
)";

TEST(PodYaml, ReadsAStreamOfPodsAndLists) {
  const auto pods = parse_pods_yaml(kStream);
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ(pods->at(0).containers.at(0).limit("cpu"), Quantity::of(2));
  EXPECT_EQ(pods->at(1).containers.at(0).request("cpu"), Quantity::of_milli(500));
}

TEST(PodYaml, NamesTheDocumentThatIsWrong) {
  const auto pods = parse_pods_yaml("spec: {}\n---\nkind: Service\n");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().message, "document 2: kind: \"Service\" is not a Pod");
}

TEST(Manifest, IsDefaultedAndValidated) {
  const auto pods = read_manifest(kStream);
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->at(0).containers.at(0).request("memory").str(), "1Gi");
  EXPECT_EQ(pods->at(0).namespace_name, "default");

  const auto bad = read_manifest("metadata: {name: a}\nspec: {containers: []}");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "pod default/a: spec.containers: a pod needs at least one container");
}

TEST(Manifest, MayBeJson) {
  const auto pods =
      read_manifest(R"( {"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}})");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->at(0).name, "a");
}

TEST(Manifest, WithoutPodsIsAnError) {
  EXPECT_EQ(read_manifest("# nothing\n").error().message, "no pod in the text");
  EXPECT_EQ(read_manifest("").error().message, "no pod in the text");
}

}  // namespace
}  // namespace corehold
