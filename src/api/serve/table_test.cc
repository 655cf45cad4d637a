// SPDX-License-Identifier: Apache-2.0
#include "api/serve/table.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "api/serve/table_rows.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

const milliseconds kNoon = *parse_time("2026-11-15T12:00:00Z");

// The cells of a pod of two containers and the init containers "setup" and, a sidecar,
// "proxy", with this status.
class PodCells : public testing::Test {
 protected:
  json::array cells(std::string_view status) {
    pod_["status"] = json::parse(status);
    return pod_cells(pod_, kNoon);
  }
  std::string ready(std::string_view status) { return std::string(cells(status)[1].as_string()); }
  std::string status(std::string_view status) { return std::string(cells(status)[2].as_string()); }
  std::string restarts(std::string_view status) {
    return std::string(cells(status)[3].as_string());
  }

  json::object pod_ = json::parse(R"({"metadata":{"name":"p","creationTimestamp":
      "2026-11-15T11:55:00Z"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"initContainers":
      [{"name":"setup"},{"name":"proxy","restartPolicy":"Always"}]}})")
                          .as_object();
};

TEST_F(PodCells, CountSidecarsAsContainers) {
  EXPECT_EQ(ready("{}"), "0/3");
  EXPECT_EQ(ready(R"({"phase":"Running","initContainerStatuses":[
      {"name":"setup","state":{"terminated":{"exitCode":0}}},
      {"name":"proxy","started":true,"ready":true,"state":{"running":{}}}],
      "containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}},
                           {"name":"b","ready":false,"state":{"running":{}}}]})"),
            "2/3");
}

TEST_F(PodCells, TellHowFarInitContainersAre) {
  EXPECT_EQ(status(R"({"phase":"Pending","initContainerStatuses":[
      {"name":"setup","state":{"running":{}}}]})"),
            "Init:0/2");
  EXPECT_EQ(status(R"({"phase":"Pending","initContainerStatuses":[
      {"name":"setup","state":{"terminated":{"exitCode":0}}},
      {"name":"proxy","started":false,"state":{"waiting":{"reason":"PodInitializing"}}}]})"),
            "Init:1/2");
  EXPECT_EQ(status(R"({"initContainerStatuses":[
      {"name":"setup","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
            "Init:CrashLoopBackOff");
  EXPECT_EQ(status(R"({"initContainerStatuses":[
      {"name":"setup","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]})"),
            "Init:Error");
  EXPECT_EQ(status(R"({"initContainerStatuses":[
      {"name":"setup","state":{"terminated":{"exitCode":3}}}]})"),
            "Init:ExitCode:3");
  EXPECT_EQ(status(R"({"initContainerStatuses":[
      {"name":"setup","state":{"terminated":{"exitCode":137,"signal":9}}}]})"),
            "Init:Signal:9");
}

TEST_F(PodCells, TellTheTroubleOfTheFirstContainerThatHasAny) {
  EXPECT_EQ(status(R"({"phase":"Running","containerStatuses":[
      {"state":{"waiting":{"reason":"CrashLoopBackOff"}}},
      {"state":{"waiting":{"reason":"ImagePullBackOff"}}}]})"),
            "CrashLoopBackOff");
  EXPECT_EQ(status(R"({"phase":"Failed","containerStatuses":[
      {"state":{"terminated":{"exitCode":2}}}]})"),
            "ExitCode:2");
  EXPECT_EQ(status(R"({"phase":"Running","containerStatuses":[
      {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
      {"ready":true,"state":{"running":{}}}]})"),
            "NotReady");
  EXPECT_EQ(status(R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
      "containerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
      {"ready":true,"state":{"running":{}}}]})"),
            "Running");
}

TEST_F(PodCells, TellDeletionUnlessThePodHasEnded) {
  pod_["metadata"].as_object()["deletionTimestamp"] = "2026-11-15T11:59:00Z";
  EXPECT_EQ(status(R"({"phase":"Running"})"), "Terminating");
  EXPECT_EQ(status(R"({"phase":"Succeeded"})"), "Succeeded");
  EXPECT_EQ(status(R"({"phase":"Running","reason":"NodeLost"})"), "Unknown");
}

TEST_F(PodCells, CountRestartsOfWhatRuns) {
  // Those of an init container that is done are history; those of a sidecar are not.
  EXPECT_EQ(restarts(R"({"initContainerStatuses":[
      {"name":"setup","restartCount":7,"state":{"terminated":{"exitCode":0}}},
      {"name":"proxy","restartCount":2,"started":true,"state":{"running":{}},
       "lastState":{"terminated":{"finishedAt":"2026-11-15T11:55:00Z"}}}],
      "containerStatuses":[{"restartCount":1,"lastState":{"terminated":
       {"finishedAt":"2026-11-15T11:50:00Z"}}},{}]})"),
            "3 (5m ago)");
  EXPECT_EQ(restarts(R"({"initContainerStatuses":[
      {"name":"setup","restartCount":7,"state":{"running":{}}}]})"),
            "7");
  EXPECT_EQ(restarts("{}"), "0");
}

TEST_F(PodCells, ShowAddressesAndGates) {
  pod_["spec"].as_object()["readinessGates"] =
      json::parse(R"([{"conditionType":"x/a"},{"conditionType":"x/b"}])");
  const json::array shown = cells(R"({"podIPs":[{"ip":"10.0.0.1"}],"nominatedNodeName":"n2",
      "conditions":[{"type":"x/b","status":"True"}]})");
  EXPECT_EQ(shown[4], "5m");
  EXPECT_EQ(shown[5], "10.0.0.1");
  EXPECT_EQ(shown[6], "<none>");
  EXPECT_EQ(shown[7], "n2");
  EXPECT_EQ(shown[8], "1/2");
}

TEST(Cells, SurviveObjectsOfAnyShape) {
  for (const char* text : {"{}", R"({"metadata":[],"spec":3,"status":"x"})",
                           R"({"metadata":{"name":1,"labels":[],"creationTimestamp":"soon"},
                               "spec":{"containers":{},"initContainers":[1,null]},
                               "status":{"conditions":[null],"containerStatuses":[[]],
                                         "initContainerStatuses":["x"],"addresses":[7]}})"}) {
    const json::object object = json::parse(text).as_object();
    for (const ResourceInfo& info : served_resources()) {
      const json::object table = table_json(info.resource, {&object, 1}, {}, {.now = kNoon});
      const json::array& row = table.at("rows").at(0).at("cells").as_array();
      EXPECT_EQ(row.size(), table_columns(info.resource).size()) << info.name << text;
    }
  }
}

TEST(Ages, SayWhenATimeIsNoneOrToCome) {
  EXPECT_EQ(age_since("", kNoon), "<unknown>");
  EXPECT_EQ(age_since("2026-11-15T12:00:01Z", kNoon), "0s");
  EXPECT_EQ(age_since("2026-11-15T12:00:02Z", kNoon), "<invalid>");
  EXPECT_EQ(age_since("2026-11-15T11:59:15.5Z", kNoon), "44s");
}

TEST(IncludeObjectParameter, KnowsThreeWords) {
  EXPECT_EQ(*include_object_of(""), IncludeObject::kMetadata);
  EXPECT_EQ(*include_object_of("None"), IncludeObject::kNone);
  EXPECT_EQ(
      include_object_of("none").error().message,
      "includeObject: Invalid value: \"none\": must be 'Metadata', 'Object', 'None', or empty");
}

TEST(Table, OfAnOlderVersionNamesItInItsRowsToo) {
  const json::object node{{"metadata", json::object{{"name", "n"}}}};
  const json::object table =
      table_json(Resource::kNodes, {&node, 1}, {.version = 4}, {.version = "v1beta1"});
  EXPECT_EQ(table.at("apiVersion"), "meta.k8s.io/v1beta1");
  EXPECT_EQ(table.at("rows").at(0).at("object").at("apiVersion"), "meta.k8s.io/v1beta1");
}

}  // namespace
}  // namespace corehold
