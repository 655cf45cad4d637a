// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_update.h"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/node/node_update.h"
#include "api/object/typed_reader.h"
#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"

namespace corehold {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

class PodChange : public testing::Test {
 protected:
  PodChange() {
    std::vector<std::string> warnings;
    auto pod = prepare_new_pod(
        json::parse(R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[
            {"name":"a","image":"i:1","resources":{"limits":{"cpu":"2","memory":"1Gi"}}},
            {"name":"b","image":"i:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})")
            .as_object(),
        {.namespace_name = "ns"}, {}, warnings);
    EXPECT_TRUE(pod);
    old_ = pod->json();
    json::object& metadata = old_["metadata"].as_object();
    metadata["uid"] = "u";
    metadata["resourceVersion"] = "7";
    metadata["generation"] = 3;
    metadata["creationTimestamp"] = "2026-11-15T20:41:00Z";
    next_ = old_;
  }

  json::object& spec() { return next_["spec"].as_object(); }
  json::object& metadata() { return next_["metadata"].as_object(); }
  json::object& container(std::size_t i) { return spec()["containers"].at(i).as_object(); }

  // The pod, or else `refusal_` says why not.
  json::object change(PodPath path, WriteVerb verb = WriteVerb::kPatch) {
    std::vector<std::string> warnings;
    const auto old = ApiPod::read(old_);
    EXPECT_TRUE(old);
    const FieldWriter writer{.manager = "tester"};
    auto change = prepare_pod_update(*old, next_, {.path = path, .verb = verb, .writer = &writer},
                                     rules_, warnings);
    refusal_ = change ? ApiStatus{} : change.error();
    if (!change) return {};
    is_same_ = change->is_same;
    is_new_spec_ = change->is_new_spec;
    return without_managed_fields(change->pod.json());
  }

  json::object old_{};
  json::object next_{};
  PodRules rules_{};
  ApiStatus refusal_{};
  bool is_same_ = false;
  bool is_new_spec_ = false;
};

TEST_F(PodChange, MayNotAskForWhatTheRuntimeCannotRun) {
  rules_.node.emplace();
  rules_.node->unrunnable = [](const Pod& pod) -> std::vector<std::string> {
    const json::object& its = pod.raw->at("spec").as_object();
    std::vector<std::string> found;
    if (its.contains("hostUsers")) found.emplace_back("spec.hostUsers: not supported");
    if (its.contains("activeDeadlineSeconds")) {
      found.emplace_back("spec.activeDeadlineSeconds: not supported");
    }
    return found;
  };
  spec()["activeDeadlineSeconds"] = 9;
  change(PodPath::kObject);
  EXPECT_THAT(refusal_.message, HasSubstr("spec.activeDeadlineSeconds: not supported"));
  // What was taken before may stay.
  spec().erase("activeDeadlineSeconds");
  old_["spec"].as_object()["hostUsers"] = false;
  spec()["hostUsers"] = false;
  container(0)["image"] = "i:2";
  EXPECT_FALSE(change(PodPath::kObject).empty()) << refusal_.message;
}

TEST_F(PodChange, MayNotMakeItTooLong) {
  container(0)["image"] = std::string(kMaxObjectBytes, 'x');
  change(PodPath::kObject);
  EXPECT_EQ(http_code(refusal_), 413) << refusal_.message.substr(0, 200);
  // Too long already: other changes are possible.
  old_["spec"].as_object()["containers"].at(0).as_object()["image"] =
      std::string(kMaxObjectBytes, 'x');
  container(0)["image"] = std::string(kMaxObjectBytes - 1, 'x');
  EXPECT_FALSE(change(PodPath::kObject).empty()) << refusal_.message.substr(0, 200);
}

TEST_F(PodChange, OfNothingChangesNothing) {
  for (const PodPath path : {PodPath::kObject, PodPath::kStatus, PodPath::kResize}) {
    const json::object pod = change(path);
    EXPECT_EQ(pod, old_);
    EXPECT_TRUE(is_same_);
    EXPECT_FALSE(is_new_spec_);
  }
}

TEST_F(PodChange, LeavesTheSystemsMetadataAlone) {
  metadata()["generation"] = 99;
  metadata()["creationTimestamp"] = "2030-01-01T00:00:00Z";
  metadata()["deletionTimestamp"] = "2030-01-01T00:00:00Z";
  metadata().erase("uid");
  metadata().erase("resourceVersion");
  next_["status"] = json::object{{"phase", "Failed"}};
  EXPECT_EQ(change(PodPath::kObject), old_);
}

TEST_F(PodChange, OfAnotherUidIsAConflictForAPutOnly) {
  metadata()["uid"] = "other";
  change(PodPath::kObject, WriteVerb::kPut);
  EXPECT_EQ(http_code(refusal_), 409);
  EXPECT_EQ(
      refusal_.message,
      "Operation cannot be fulfilled on pods \"p\": Precondition failed: UID in precondition: "
      "other, UID in object meta: u");
  change(PodPath::kObject);
  EXPECT_EQ(http_code(refusal_), 422);
}

TEST_F(PodChange, MayAddTolerationsAndDelayThem) {
  spec()["tolerations"].at(0).as_object()["tolerationSeconds"] = 10;
  spec()["tolerations"].as_array().push_back(json::object{{"key", "k"}, {"operator", "Exists"}});
  const json::object pod = change(PodPath::kObject);
  ASSERT_FALSE(pod.empty()) << refusal_.message;
  EXPECT_TRUE(is_new_spec_);
  old_ = pod;
  spec()["tolerations"].as_array().pop_back();
  change(PodPath::kObject);
  EXPECT_THAT(refusal_.message, HasSubstr("existing toleration can not be modified except its "
                                          "tolerationSeconds"));
}

TEST_F(PodChange, MayNotAddContainers) {
  spec()["containers"].as_array().push_back(json::object{{"name", "c"}, {"image", "i"}});
  change(PodPath::kObject);
  ASSERT_EQ(refusal_.causes.size(), 1U);
  EXPECT_EQ(refusal_.causes[0].message, "Forbidden: pod updates may not add or remove containers");
}

TEST_F(PodChange, OfTheSameAmountInOtherWordsIsNone) {
  container(0)["resources"].as_object()["limits"].as_object()["cpu"] = "2000m";
  container(0)["resources"].as_object()["requests"].as_object()["cpu"] = "2e0";
  const json::object pod = change(PodPath::kObject);
  ASSERT_FALSE(pod.empty()) << refusal_.message;
  EXPECT_FALSE(is_new_spec_);
  EXPECT_FALSE(is_same_);
}

// A pod from before there were defaults for everything.
TEST_F(PodChange, IsPossibleForAPodThatLacksDefaults) {
  old_["spec"].as_object().erase("schedulerName");
  old_["spec"].as_object().erase("tolerations");
  next_ = old_;
  metadata()["labels"].as_object()["new"] = "label";
  const json::object pod = change(PodPath::kObject);
  ASSERT_FALSE(pod.empty()) << refusal_.message;
  EXPECT_FALSE(is_new_spec_);
}

TEST_F(PodChange, ShowsHiddenFieldsWhereTheApiServerHasThem) {
  spec()["hostNetwork"] = true;
  change(PodPath::kObject);
  EXPECT_THAT(refusal_.message, HasSubstr(" \"SecurityContext\": {\n-  \"HostNetwork\": false,\n+  "
                                          "\"HostNetwork\": true,\n   \"HostPID\": false,\n"));
}

TEST_F(PodChange, ByResizeIsOneOfResourcesOnly) {
  container(0)["resources"] = json::parse(R"({"limits":{"cpu":"4","memory":"1Gi"}})");
  container(0)["image"] = "other";
  container(1)["command"] = json::array{"x"};
  metadata()["labels"] = json::object{{"x", "y"}};
  next_["status"] = json::object{{"phase", "Failed"}};
  json::object expected = old_;
  for (const char* list : {"limits", "requests"})
    expected["spec"].at("containers").at(0).at("resources").at(list).as_object()["cpu"] = "4";
  EXPECT_EQ(change(PodPath::kResize), expected);
}

TEST_F(PodChange, ByResizeMayNotRenameOrReorder) {
  json::array& containers = spec()["containers"].as_array();
  std::swap(containers[0], containers[1]);
  change(PodPath::kResize);
  ASSERT_EQ(refusal_.causes.size(), 1U);
  EXPECT_EQ(refusal_.causes[0].field, "spec.containers");
  EXPECT_EQ(refusal_.causes[0].message,
            "Forbidden: containers may not be renamed or reordered on resize");
}

TEST_F(PodChange, ByResizeMayNotTakeAmountsAwayNorTouchOtherResources) {
  container(0)["resources"].at("limits").as_object()["example.com/x"] = "1";
  container(0)["resources"].at("requests").as_object()["example.com/x"] = "1";
  container(1)["resources"].at("limits").as_object().erase("memory");
  change(PodPath::kResize);
  std::vector<std::string> causes;
  for (const StatusCause& cause : refusal_.causes)
    causes.push_back(cause.field + ": " + cause.message);
  EXPECT_THAT(causes,
              ElementsAre("spec: Invalid value: \"Guaranteed\": Pod QOS Class may not change "
                          "as a result of resizing",
                          "spec.containers[1].resources.limits: Forbidden: resource limits "
                          "cannot be removed",
                          "spec: Forbidden: only cpu and memory resources are mutable"));
}

TEST_F(PodChange, OfStatusLeavesTheSpecAlone) {
  spec()["nodeName"] = "elsewhere";
  next_["status"] = json::parse(R"({"phase":"Running","conditions":[{"type":"Ready",
      "status":"True"}]})");
  const json::object pod = change(PodPath::kStatus);
  EXPECT_EQ(pod.at("spec"), old_.at("spec"));
  EXPECT_EQ(json::serialize(pod.at("status")),
            R"({"phase":"Running","conditions":[{"type":"Ready","status":"True",)"
            R"("lastProbeTime":null,"lastTransitionTime":null}]})");
}

TEST_F(PodChange, ChecksLabels) {
  metadata()["labels"].as_object()["a b"] = "-";
  change(PodPath::kObject);
  EXPECT_EQ(refusal_.causes.size(), 2U);
}

// ---- nodes ----

TEST(NodeChange, MayTaintAndCordon) {
  const json::object old{{"metadata", {{"name", "n"}, {"uid", "n"}}},
                         {"spec", json::object{{"providerID", "x"}}},
                         {"status", {{"capacity", {{"cpu", "4"}}}}}};
  json::object next = old;
  next["spec"] = json::parse(R"({"providerID":"x","unschedulable":true,
      "taints":[{"key":"k","effect":"NoSchedule"}]})");
  next["status"] = json::object();
  const auto node = prepare_node_update(old, next, {});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->at("status").at("capacity").at("cpu"), "4");
  EXPECT_EQ(node->at("spec").at("unschedulable"), true);
  next["spec"] = json::parse(R"({"taints":[{"key":"k","effect":"Odd"}]})");
  const auto refused = prepare_node_update(old, next, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().causes.size(), 2U) << refused.error().message;
}

TEST_F(PodChange, OfItsDelayStaysWithinTheBounds) {
  constexpr const char* kDelay = "corehold.dev/scale-delay";
  for (const PodPath path : {PodPath::kObject, PodPath::kStatus}) {
    metadata()["annotations"] = {{kDelay, "2s"}};
    EXPECT_EQ(change(path).at("metadata").at("annotations").at(kDelay), "2s");
    metadata()["annotations"] = {{kDelay, "2m"}};
    change(path);
    ASSERT_EQ(refusal_.causes.size(), 1U);
    EXPECT_EQ(refusal_.causes[0].field, "metadata.annotations[corehold.dev/scale-delay]");
    EXPECT_THAT(refusal_.causes[0].message, HasSubstr(R"("2m" has no unit of seconds)"));
  }
}

TEST_F(PodChange, LeavesADelayThatNobodyCanReadWhereItIs) {
  const json::value bad{{"corehold.dev/scale-delay", "soon"}};
  old_["metadata"].as_object()["annotations"] = bad;
  metadata()["annotations"] = bad;
  metadata()["labels"].as_object()["a"] = "c";
  EXPECT_EQ(change(PodPath::kObject).at("metadata").at("labels").at("a"), "c");
}

}  // namespace
}  // namespace corehold
