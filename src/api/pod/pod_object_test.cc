// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_object.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "pod/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using Stage = ContainerView::Stage;

constexpr seconds kCreated{1'700'000'000};

json::object condition(const json::object& pod, std::string_view type) {
  for (const json::value& item : pod.at("status").at("conditions").as_array()) {
    if (item.at("type").as_string() == type) return item.as_object();
  }
  return {};
}

class PodObject : public testing::Test {
 protected:
  PodObject() {
    pod_.uid = "7f0c1d52";
    view_.containers = {{.name = "main", .stage = Stage::kRunning, .started_at = kCreated}};
    view_.init_containers = {
        {.name = "setup", .stage = Stage::kTerminated, .exit = ContainerExit{}},
        {.name = "proxy", .stage = Stage::kRunning}};
  }

  Pod pod_ = pod_of("pg-0", {"init:setup cpu=1 memory=1Gi", "sidecar:proxy cpu=1 memory=1Gi",
                             "main cpu=2 memory=4Gi"});
  PodView view_{.pod = pod_,
                .phase = "Running",
                .scheduled = true,
                .resource_version = 12,
                .created_at = kCreated,
                .started_at = kCreated + seconds{1},
                .host = "box"};
};

TEST_F(PodObject, KeepsWhatTheCallerWroteAndGivesTheRest) {
  pod_ = parse_pods_json(R"({"kind":"Pod","metadata":{"name":"a","creationTimestamp":null,
    "deletionTimestamp":"x","generation":4},"spec":{"containers":[{"name":"main","image":"busybox"}],
    "hostNetwork":true},"status":{"phase":"Odd","podIP":"10.0.0.1"}})")
             ->front();
  pod_.uid = "u";
  const json::object pod = to_json(view_);
  EXPECT_EQ(pod.at("apiVersion"), "v1");
  EXPECT_EQ(pod.at("metadata").at("uid"), "u");
  EXPECT_EQ(pod.at("metadata").at("resourceVersion"), "12");
  EXPECT_EQ(pod.at("metadata").at("creationTimestamp"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(pod.at("metadata").at("generation"), 1);
  EXPECT_FALSE(pod.at("metadata").as_object().contains("deletionTimestamp"));
  EXPECT_EQ(pod.at("spec").at("hostNetwork"), true);
  EXPECT_EQ(pod.at("spec").at("nodeName"), "box");
  EXPECT_EQ(pod.at("status").at("phase"), "Running");
  EXPECT_FALSE(pod.at("status").as_object().contains("podIP"));
  EXPECT_EQ(pod.at("status").at("containerStatuses").at(0).at("image"), "busybox");
}

TEST_F(PodObject, IsReadyWhenAllThatShouldRunRuns) {
  const json::object pod = to_json(view_);
  for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
    EXPECT_EQ(condition(pod, type).at("status"), "True") << type;
  }
  EXPECT_EQ(pod.at("status").at("qosClass"), "Guaranteed");
  EXPECT_EQ(pod.at("status").at("startTime"), "2023-11-14T22:13:21Z");
  const json::value& main = pod.at("status").at("containerStatuses").at(0);
  EXPECT_EQ(main.at("ready"), true);
  EXPECT_EQ(main.at("started"), true);
  EXPECT_EQ(main.at("state").at("running").at("startedAt"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(main.at("containerID"), "corehold://7f0c1d52/main/0");
  EXPECT_EQ(pod.at("status").at("initContainerStatuses").at(0).at("ready"), true);
}

TEST_F(PodObject, SaysWhichContainersAreNotReady) {
  view_.init_containers[1].stage = Stage::kWaiting;
  view_.containers.clear();
  const json::object pod = to_json(view_);
  EXPECT_EQ(condition(pod, "Initialized").at("message"),
            "containers with incomplete status: [proxy]");
  EXPECT_EQ(condition(pod, "Ready").at("message"), "containers with unready status: [proxy main]");
  EXPECT_EQ(pod.at("status").at("containerStatuses").at(0).at("state").at("waiting").at("reason"),
            "ContainerCreating");
}

TEST_F(PodObject, AWaitingPodSaysWhyInItsCondition) {
  const PodView view{.pod = pod_,
                     .phase = "Pending",
                     .reason = "Unschedulable",
                     .message = "4 CPUs asked for, 2 free",
                     .created_at = kCreated};
  const json::object pod = to_json(view);
  EXPECT_EQ(condition(pod, "PodScheduled").at("status"), "False");
  EXPECT_EQ(condition(pod, "PodScheduled").at("reason"), "Unschedulable");
  EXPECT_EQ(condition(pod, "PodScheduled").at("message"), "4 CPUs asked for, 2 free");
  EXPECT_FALSE(pod.at("status").as_object().contains("reason"));
  EXPECT_FALSE(pod.at("spec").as_object().contains("nodeName"));
}

// Between the two a client that waits for PodScheduled=False would find no message.
TEST_F(PodObject, APodThatIsNeitherAdmittedNorRefusedYetHasNoSuchCondition) {
  const json::object pod =
      to_json(PodView{.pod = pod_, .phase = "Pending", .created_at = kCreated});
  for (const json::value& item : pod.at("status").at("conditions").as_array()) {
    EXPECT_NE(item.at("type"), "PodScheduled");
  }
}

TEST_F(PodObject, TellsHowAContainerEnded) {
  view_.phase = "Failed";
  view_.reason = "OutOfcpu";
  view_.containers[0] = {.name = "main",
                         .stage = Stage::kTerminated,
                         .exit = ContainerExit{.code = 137,
                                               .signal = 9,
                                               .started_at = kCreated,
                                               .finished_at = kCreated + seconds{5}},
                         .last = ContainerExit{.code = 1},
                         .restarts = 2,
                         .attempt = 2,
                         .last_attempt = 1};
  const json::object pod = to_json(view_);
  const json::value& main = pod.at("status").at("containerStatuses").at(0);
  EXPECT_EQ(json::serialize(main.at("state")),
            R"({"terminated":{"exitCode":137,"signal":9,"reason":"Error",)"
            R"("startedAt":"2023-11-14T22:13:20Z","finishedAt":"2023-11-14T22:13:25Z",)"
            R"("containerID":"corehold://7f0c1d52/main/2"}})");
  EXPECT_EQ(main.at("lastState").at("terminated").at("exitCode"), 1);
  EXPECT_EQ(main.at("restartCount"), 2);
  EXPECT_EQ(main.at("ready"), false);
  EXPECT_EQ(pod.at("status").at("reason"), "OutOfcpu");
  EXPECT_EQ(condition(pod, "Ready").at("reason"), "PodFailed");
}

TEST_F(PodObject, TellsWhatAContainerWasGrantedOnceItHasRun) {
  const json::object pod = to_json(view_);
  const json::value& main = pod.at("status").at("containerStatuses").at(0);
  EXPECT_EQ(json::serialize(main.at("allocatedResources")), R"({"cpu":"2","memory":"4Gi"})");
  EXPECT_EQ(json::serialize(main.at("resources")),
            R"({"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"2","memory":"4Gi"}})");
  EXPECT_TRUE(pod.at("status").at("initContainerStatuses").at(0).as_object().contains("resources"));
  view_.containers[0] = {.name = "main", .reason = "ContainerCreating"};
  const json::object waits = to_json(view_);
  EXPECT_FALSE(waits.at("status").at("containerStatuses").at(0).as_object().contains("resources"));
}

TEST_F(PodObject, OneThatAsksForNothingWasGrantedNothing) {
  pod_ = pod_of("a", {"main"});
  view_.init_containers.clear();
  const json::object pod = to_json(view_);
  const json::object& main = pod.at("status").at("containerStatuses").at(0).as_object();
  EXPECT_FALSE(main.contains("allocatedResources"));
  EXPECT_EQ(json::serialize(main.at("resources")), "{}");
}

TEST_F(PodObject, OneThatIsResizedShowsWishGrantAndReality) {
  Resources granted = pod_.containers[0].resources;
  granted.requests["cpu"] = granted.limits["cpu"] = *Quantity::parse("4");
  view_.containers[0].granted = granted;
  view_.containers[0].actual = pod_.containers[0].resources;
  view_.generation = 5;
  view_.resize_pending = {.reason = "Deferred", .message = "later", .since = kCreated};
  view_.resize_in_progress = {.since = kCreated + seconds{1}};
  const json::object pod = to_json(view_);
  const json::value& main = pod.at("status").at("containerStatuses").at(0);
  EXPECT_EQ(main.at("allocatedResources").at("cpu"), "4");
  EXPECT_EQ(main.at("resources").at("limits").at("cpu"), "2");
  EXPECT_EQ(json::serialize(condition(pod, "PodResizePending")),
            R"({"type":"PodResizePending","status":"True","lastProbeTime":null,)"
            R"("lastTransitionTime":"2023-11-14T22:13:20Z","reason":"Deferred",)"
            R"("message":"later","observedGeneration":5})");
  EXPECT_EQ(json::serialize(condition(pod, "PodResizeInProgress")),
            R"({"type":"PodResizeInProgress","status":"True","lastProbeTime":null,)"
            R"("lastTransitionTime":"2023-11-14T22:13:21Z","observedGeneration":5})");
}

// A client that writes the status back, conditions and all, must not make them stay.
TEST_F(PodObject, ConditionsOfTheNodeComeFromTheNodeAlone) {
  pod_.raw.edit()["status"] =
      json::parse(R"({"conditions":[{"type":"PodResizePending","status":"True"},
      {"type":"example.com/x","status":"True"}]})");
  const json::object pod = to_json(view_);
  EXPECT_TRUE(condition(pod, "PodResizePending").empty());
  EXPECT_FALSE(condition(pod, "example.com/x").empty());
}

TEST_F(PodObject, APodBeingDeletedSaysByWhenItIsToBeGone) {
  view_.deleted_at = kCreated;
  view_.grace = seconds{30};
  const json::object pod = to_json(view_);
  EXPECT_EQ(pod.at("metadata").at("deletionTimestamp"), "2023-11-14T22:13:50Z");
  EXPECT_EQ(pod.at("metadata").at("deletionGracePeriodSeconds"), 30);
}

TEST_F(PodObject, CanBeReadAsAPodAgain) {
  const auto pods = pods_from_json(pod_list_json({to_json(view_)}, 12));
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->front().name, "pg-0");
  EXPECT_EQ(pods->front().containers, pod_.containers);
}

}  // namespace
}  // namespace corehold
