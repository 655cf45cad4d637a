// SPDX-License-Identifier: Apache-2.0
#include "features/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FeatureNodes, AreReadFromAListAsKubectlPrintsIt) {
  const auto nodes = parse_nodes_json(R"({"apiVersion":"v1","kind":"List","items":[
      {"kind":"Node","metadata":{"name":"a","annotations":{"corehold.dev/cpu-manager-policy":"static"}},
       "status":{"declaredFeatures":["B","A"],"nodeInfo":{"kubeletVersion":"v1.37.0"}}},
      {"kind":"Node","metadata":{"name":"b"}}]})");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->front().name, "a");
  EXPECT_THAT(nodes->front().declared_features, ElementsAre("B", "A"));
  EXPECT_EQ(nodes->front().kubelet_version, "v1.37.0");
  EXPECT_TRUE(pins_cpus(nodes->front()));
  EXPECT_FALSE(pins_cpus(nodes->back()));
}

TEST(FeatureNodes, OneNodeIsAListOfOne) {
  const auto nodes = parse_nodes_json(R"({"kind":"Node","metadata":{"name":"a"}})");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->size(), 1U);
}

TEST(FeatureNodes, SayWhereTheShapeIsWrong) {
  const auto problem = [](std::string_view text) {
    const auto nodes = parse_nodes_json(text);
    return nodes ? "accepted" : nodes.error().message;
  };
  EXPECT_EQ(problem("[]"), "must be a Node or a list of them, as kubectl get nodes -o json prints");
  EXPECT_EQ(problem(R"({"kind":"Pod","metadata":{"name":"a"}})"), R"(kind: "Pod" is not a Node)");
  EXPECT_EQ(problem(R"({"kind":"NodeList","items":[{"metadata":{}}]})"),
            "items[0].metadata.name: required");
  EXPECT_EQ(problem(R"({"kind":"NodeList","items":[7]})"), "items[0]: must be an object");
  EXPECT_EQ(
      problem(R"({"kind":"Node","metadata":{"name":"a"},"status":{"declaredFeatures":["A",1]}})"),
      "status.declaredFeatures[1]: must be a string");
  EXPECT_THAT(problem("{"), HasSubstr("JSON: line 1"));
}

TEST(FeatureNodes, AreReadFromYamlToo) {
  const auto nodes = read_nodes(
      "kind: Node\nmetadata: {name: a}\n---\nkind: NodeList\nitems:\n- metadata: {name: b}\n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->back().name, "b");
  EXPECT_EQ(read_nodes("NAME     STATUS\nworker   Ready\n").error().message,
            "must be a Node or a list of them, as kubectl get nodes -o json prints");
  EXPECT_EQ(read_nodes(" \n").error().message, "no node in the text");
  EXPECT_EQ(read_nodes(R"( {"kind":"List","items":[]})")->size(), 0U);
}

TEST(DeclaredNames, AreSortedOnceEachWithoutWhatNoNodeMayDeclare) {
  const FeatureNode node{.name = "n",
                         .declared_features = {"B", "bad", "A", "B"},
                         .annotations = {{"corehold.dev/declared-features", "C, A,"}}};
  const DeclaredNames declared = declared_names(node);
  EXPECT_THAT(declared.names, ElementsAre("A", "B", "C"));
  EXPECT_THAT(declared.dropped, ElementsAre(HasSubstr(R"(invalid feature name "bad")"),
                                            HasSubstr(R"(invalid feature name "")")));
}

}  // namespace
}  // namespace corehold
