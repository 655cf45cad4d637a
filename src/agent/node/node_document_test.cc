// SPDX-License-Identifier: Apache-2.0
#include "agent/node/node_document.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/json/json_look.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

const NodeView kView{.name = "n", .cpus = 4, .policy = "static", .confinement = "cgroup v2"};

json::object written() {
  NodeDocument document("u1", 1000ms);
  json::object node = document.object(kView);
  node["metadata"].as_object()["labels"].as_object()["rack"] = "7";
  node["metadata"].as_object()["labels"].as_object()["kubernetes.io/hostname"] = "other";
  node["spec"].as_object()["unschedulable"] = true;
  json::array& conditions = node["status"].as_object()["conditions"].as_array();
  conditions[0].as_object()["status"] = "False";
  conditions.push_back(json::object{{"type", "Burnt"}, {"status", "True"}});
  return node;
}

TEST(NodeDocument, KeepsWhatClientsMayWriteAndNothingElse) {
  NodeDocument document("u1", 1000ms);
  EXPECT_FALSE(document.is_cordoned());
  document.take(written());
  const auto again = NodeDocument::parse(document.text());
  ASSERT_TRUE(again);
  const json::object node = again->object(kView);
  EXPECT_EQ(node, document.object(kView));
  EXPECT_TRUE(again->is_cordoned());
  EXPECT_EQ(look_text(node, {"metadata", "uid"}), "u1");
  EXPECT_EQ(look_text(node, {"metadata", "labels", "rack"}), "7");
  EXPECT_EQ(look_text(node, {"metadata", "labels", "kubernetes.io/hostname"}), "n");
  const json::array& conditions = look_array(node, {"status", "conditions"});
  ASSERT_EQ(conditions.size(), 3U);
  EXPECT_EQ(conditions[0].at("status"), "True");
  EXPECT_EQ(conditions[2].at("type"), "Burnt");
}

TEST(NodeDocument, PutsBackWhatTheNodeDeclares) {
  NodeDocument document("u1", 1000ms);
  NodeView declaring = kView;
  declaring.declared_features = {"A", "B"};
  json::object node = document.object(declaring);
  node["status"].as_object()["declaredFeatures"] = json::array{"Fake"};
  node["metadata"].as_object()["annotations"].as_object()[kFeaturesAnnotation] = "Fake";
  document.take(node);
  EXPECT_EQ(document.object(declaring).at("status").at("declaredFeatures"),
            (json::array{"A", "B"}));
  EXPECT_EQ(look_text(document.object(declaring), {"metadata", "annotations", kFeaturesAnnotation}),
            "A,B");
  const json::object silent = document.object(kView);
  EXPECT_FALSE(silent.at("status").as_object().contains("declaredFeatures"));
  EXPECT_EQ(look_text(silent, {"metadata", "annotations", kFeaturesAnnotation}), "");
}

TEST(NodeDocument, IsRefusedWhenDamaged) {
  for (const char* const text : {"", "[]", "{}", R"({"uid":7})"}) {
    const auto document = NodeDocument::parse(text);
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace corehold
