// SPDX-License-Identifier: Apache-2.0
#include "api/node/node_object.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/node/event_object.h"

namespace corehold {
namespace {

namespace json = boost::json;

const NodeView kNode{.name = "box",
                     .resource_version = 7,
                     .created_at = std::chrono::seconds{1'700'000'000},
                     .since = std::chrono::seconds{1'700'000'001},
                     .version = "0.1.0",
                     .kernel = "6.1.0",
                     .architecture = "amd64",
                     .cpus = 16,
                     .reserved_cpus = 2,
                     .memory = std::int64_t{4} << 30,
                     .policy = "static",
                     .confinement = "cgroup v2"};

TEST(NodeObject, GivesAllButTheReservedCpus) {
  const json::object node = to_json(kNode);
  EXPECT_EQ(node.at("status").at("capacity").at("cpu"), "16");
  EXPECT_EQ(node.at("status").at("allocatable").at("cpu"), "14");
  EXPECT_EQ(node.at("status").at("capacity").at("memory"), "4194304Ki");
  EXPECT_EQ(node.at("metadata").at("annotations").at("corehold.dev/cpu-manager-policy"), "static");
}

TEST(NodeObject, DeclaresFeaturesOrHasNoSuchField) {
  NodeView view = kNode;
  EXPECT_FALSE(to_json(view).at("status").as_object().contains("declaredFeatures"));
  view.declared_features = {"A", "B/c"};
  const json::object node = to_json(view);
  EXPECT_EQ(node.at("status").at("declaredFeatures"), (json::array{"A", "B/c"}));
  EXPECT_EQ(node.at("metadata").at("annotations").at(kFeaturesAnnotation), "A,B/c");
}

TEST(NodeObject, SaysWhetherHeldCpusAreKeptFree) {
  NodeView view = kNode;
  EXPECT_EQ(to_json(view).at("status").at("conditions").as_array().size(), 2U);
  view.exclusive = {.reason = "Intruders", .message = "not kept off CPUs 2: /system.slice"};
  EXPECT_EQ(node_summary(to_json(view))->intruders, view.exclusive->message);
  view.exclusive->is_so = true;
  EXPECT_EQ(node_summary(to_json(view))->intruders, "");
}

TEST(NodeObject, SaysWhetherItIsReadyAndHowItConfines) {
  NodeView view = kNode;
  view.ready = false;
  view.message = "the checkpoint cannot be saved";
  view.confinement = "affinity";
  view.note = "no cgroup can be written: containers are kept to their CPUs by affinity";
  const auto summary = node_summary(to_json(view));
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->name, "box");
  EXPECT_EQ(summary->status, "NotReady");
  EXPECT_EQ(summary->policy, "static");
  EXPECT_EQ(summary->cpus, "16");
  EXPECT_EQ(summary->allocatable, "14");
  EXPECT_EQ(summary->confinement, "affinity");
  EXPECT_EQ(summary->note, view.note);
  EXPECT_EQ(summary->created_at, view.created_at);
  EXPECT_EQ(node_summary(to_json(kNode))->status, "Ready");
}

TEST(NodeObject, NamesTheFieldThatIsWrong) {
  json::object node = to_json(kNode);
  node["status"].get_object()["conditions"] = 3;
  EXPECT_EQ(node_summary(node).error().message, "status.conditions: must be a list");
  EXPECT_FALSE(node_summary(json::array()));
  EXPECT_TRUE(node_summary(json::object()));
}

TEST(EventObject, ComesBackAsItWent) {
  EventView event{.id = "17a2",
                  .kind = "Pod",
                  .namespace_name = "db",
                  .name = "pg-0",
                  .uid = "7f0c1d52",
                  .container = "main",
                  .type = "Warning",
                  .reason = "FailedStart",
                  .message = "exec ./pg: no such file",
                  .count = 3,
                  .first_at = std::chrono::seconds{1'700'000'000},
                  .last_at = std::chrono::seconds{1'700'000'060},
                  .host = "box",
                  .resource_version = 12};
  auto back = event_from_json(to_json(event));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, event);
  event.kind = "Node";
  event.namespace_name = "";
  event.container = "";
  EXPECT_EQ(*event_from_json(to_json(event)), event);
  EXPECT_EQ(to_json(event).at("metadata").at("namespace"), "default");
}

TEST(EventObject, NamesTheFieldThatIsWrong) {
  json::object event = to_json(EventView{.name = "a"});
  event["metadata"].get_object()["resourceVersion"] = "7x";
  EXPECT_EQ(event_from_json(event).error().message, "metadata.resourceVersion: must be a number");
}

}  // namespace
}  // namespace corehold
