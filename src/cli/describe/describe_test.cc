// SPDX-License-Identifier: Apache-2.0
//
// describe: its pages against the files of tests/golden/node (node_render_test.cc tells how
// to accept a change), and the command against an agent that knows a few answers.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/node/event_object.h"
#include "api/node/node_object.h"
#include "api/pod/pod_object.h"
#include "cli/client/client_testing.h"
#include "cli/describe/describe_render.h"
#include "cli/draw/cpu_grid.h"
#include "cli/testing.h"
#include "pod/pod_yaml.h"
#include "topology/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kToday = seconds{1'700'000'000};

void expect_page(const std::string& name, const Result<std::string>& page) {
  ASSERT_TRUE(page) << page.error().message;
  const std::string path = std::string(COREHOLD_SOURCE_DIR) + "/tests/golden/node/" + name;
  if (std::getenv("COREHOLD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << *page;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(*page, expected) << name;
}

constexpr const char* kDatabase = R"(
apiVersion: v1
kind: Pod
metadata:
  name: pg-0
  namespace: db
  labels: {app: pg, tier: "1"}
  annotations:
    corehold.dev/podinfo: /etc/podinfo
    kubectl.kubernetes.io/last-applied-configuration: "{}"
spec:
  priority: 10
  initContainers:
  - name: setup
    command: [initdb, "-D", /data dir]
    resources: {limits: {cpu: 2, memory: 1Gi}}
  containers:
  - name: main
    command: [postgres]
    args: ["-c", "shared_buffers=1GB"]
    resources: {limits: {cpu: 4, memory: 8Gi}}
  - name: exporter
    command: [exporter]
    resources: {limits: {cpu: 500m, memory: 64Mi}}
)";

CpuMap busy_map() {
  CpuMap map{.node = "box", .topology = machine("2s4c2t"), .policy = "static"};
  map.options = {"full-pcpus-only", "strict-cpu-reservation"};
  map.settings = {
      .topology_policy = "restricted",
      .topology_scope = "pod",
      .topology_options = {"prefer-closest-numa-nodes"},
      .gates = {{"CPUManagerPolicyAlphaOptions", true},
                {"InPlacePodVerticalScalingExclusiveCPUs", true}},
      .idle_gates = {{"NodeSwap", false}},
      .declared_features = {"InPlacePodVerticalScalingExclusiveCPUs"},
      .undeclared_features = {{"ExtendWebSocketsToKubelet", "this node does not have it"},
                              {"RestartAllContainersOnContainerExits", "its gate is off"}},
      .scale_delay = milliseconds{1500},
      .reconcile_period = seconds{10},
      .min_shared = 2};
  map.reserved = cpus("0-1");
  map.offline = cpus("15");
  map.shared = cpus("10-14");
  map.free = cpus("10-13");
  map.containers = {{.namespace_name = "db",
                     .pod = "pg-0",
                     .uid = "uid-pg",
                     .container = "main",
                     .assigned = cpus("2-5"),
                     .promised = cpus("2-3"),
                     .pending = cpus("2-3"),
                     .pending_until = kToday + milliseconds{1500},
                     .numa = nodes("0"),
                     .since = kToday - hours{3}},
                    {.namespace_name = "web",
                     .pod = "gw",
                     .uid = "uid-gw",
                     .container = "envoy",
                     .assigned = cpus("6-9"),
                     .promised = cpus("6-9"),
                     .numa = nodes("0-1"),
                     .since = kToday - minutes{12}}};
  return map;
}

json::object database_pod() {
  Pod pod = read_manifest(kDatabase)->front();
  pod.uid = "uid-pg";
  PodView view{.pod = pod,
               .phase = "Running",
               .scheduled = true,
               .resource_version = 7,
               .created_at = kToday - hours{4},
               .started_at = kToday - hours{3},
               .host = "box"};
  view.init_containers = {{.name = "setup",
                           .stage = ContainerView::Stage::kTerminated,
                           .exit = ContainerExit{.started_at = kToday - hours{3},
                                                 .finished_at = kToday - hours{3} + seconds{2}}}};
  view.containers = {{.name = "main",
                      .stage = ContainerView::Stage::kRunning,
                      .started_at = kToday - minutes{5},
                      .last = ContainerExit{.code = 137,
                                            .signal = 9,
                                            .message = "killed\nhard",
                                            .started_at = kToday - hours{3},
                                            .finished_at = kToday - minutes{6}},
                      .restarts = 1,
                      .attempt = 1},
                     {.name = "exporter",
                      .stage = ContainerView::Stage::kWaiting,
                      .reason = "CrashLoopBackOff",
                      .message = "no such file",
                      .restarts = 3}};
  return to_json(view);
}

EventView event_of(std::string_view reason, milliseconds at, int count) {
  return {.kind = "Pod",
          .namespace_name = "db",
          .name = "pg-0",
          .uid = "uid-pg",
          .container = "main",
          .type = "Normal",
          .reason = std::string(reason),
          .message = "on CPUs 2-5",
          .count = count,
          .first_at = at,
          .last_at = at};
}

TEST(DescribePod, TellsWhatEachContainerHasAndWhy) {
  const json::object pod = database_pod();
  const CpuMap map = busy_map();
  expect_page("pod-page.txt",
              render_pod_page({.pod = pod,
                               .map = map,
                               .events = {event_of("Started", kToday - minutes{5}, 2),
                                          event_of("Admitted", kToday - hours{3}, 1)},
                               .now = kToday}));
}

TEST(DescribePod, TellsWhatOneWaitsFor) {
  Pod pod = read_manifest(kDatabase)->front();
  pod.uid = "uid-other";
  const json::object waiting = to_json(PodView{.pod = pod,
                                               .phase = "Pending",
                                               .message = "not enough cpus: 4 of 2 free",
                                               .created_at = kToday - hours{4}});
  const CpuMap map = busy_map();
  const auto page = render_pod_page({.pod = waiting, .map = map, .now = kToday});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_NE(page->find("\nwaits        because not enough cpus: 4 of 2 free\n"), std::string::npos)
      << *page;
  EXPECT_NE(page->find("  why       none yet: the pod is Guaranteed and cpu 4 is a whole number, "
                       "but the pod waits\n"),
            std::string::npos)
      << *page;
  EXPECT_NE(page->find("\nevents  none\n"), std::string::npos);
}

// Wishes for 8 CPUs, was granted 2, and still runs on 4.
json::object wishing_pod() {
  json::object pod = database_pod();
  pod["spec"].as_object()["containers"].as_array().at(0).as_object()["resources"] = {
      {"requests", {{"cpu", "8"}, {"memory", "8Gi"}}},
      {"limits", {{"cpu", "8"}, {"memory", "8Gi"}}}};
  json::object& status = pod["status"].as_object();
  json::object& main = status["containerStatuses"].as_array().at(0).as_object();
  main["allocatedResources"] = {{"cpu", "2"}, {"memory", "8Gi"}};
  main["resources"] = {{"requests", {{"cpu", "4"}, {"memory", "8Gi"}}},
                       {"limits", {{"cpu", "4"}, {"memory", "8Gi"}}}};
  json::array& conditions = status["conditions"].as_array();
  conditions.insert(conditions.begin(),
                    json::object{{"type", "PodResizeInProgress"}, {"status", "True"}});
  conditions.insert(conditions.begin(),
                    json::object{{"type", "PodResizePending"},
                                 {"status", "True"},
                                 {"reason", "Deferred"},
                                 {"message", "needs CPUs held by web/gw envoy 6-9"}});
  return pod;
}

TEST(DescribePod, TellsWhatAResizeHasComeTo) {
  const json::object pod = wishing_pod();
  const CpuMap map = busy_map();
  const auto page = render_pod_page({.pod = pod, .map = map, .now = kToday});
  ASSERT_TRUE(page) << page.error().message;
  for (const char* line :
       {"\nresize       Deferred: needs CPUs held by web/gw envoy 6-9; in progress\n",
        "\n  asks for   cpu 8, memory 8Gi\n", "\n  granted    cpu 2, memory 8Gi\n",
        "\n  runs with  cpu 4, memory 8Gi\n", "\n  assigned   2-5  4 CPUs, grown by 4-5\n",
        "\n  promised   2-3  2 CPUs, which it never loses\n",
        "\n  pending    2-3  2 CPUs will be left; 4-5 go in 2s\n"}) {
    EXPECT_NE(page->find(line), std::string::npos) << line << *page;
  }
}

// Its CPUs come from what it has been granted, whatever it wishes for.
TEST(DescribePod, ExplainsWhatWasGrantedNotWhatIsWishedFor) {
  json::object pod = wishing_pod();
  const CpuMap map = busy_map();
  pod["status"].as_object()["qosClass"] = "Guaranteed";
  for (const char* wished : {"8", "1500m"}) {
    json::object& resources =
        pod["spec"].as_object()["containers"].as_array().at(0).as_object()["resources"].as_object();
    resources["requests"].as_object()["cpu"] = wished;
    const auto page = render_pod_page({.pod = pod, .map = map, .now = kToday});
    ASSERT_TRUE(page) << page.error().message;
    for (const char* line : {"\nqos          Guaranteed: ",
                             "\n  why        CPUs of its own: the pod is Guaranteed and cpu 2 is a "
                             "whole number\n"}) {
      EXPECT_NE(page->find(line), std::string::npos) << line << *page;
    }
  }
}

TEST(DescribePod, NamesThePolicyThatGivesNothing) {
  CpuMap map = busy_map();
  map.policy = "none";
  map.containers.clear();
  const json::object pod = database_pod();
  const auto page = render_pod_page({.pod = pod, .map = map, .now = kToday});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_NE(page->find("  why       shares: policy none gives nobody CPUs of its own\n"),
            std::string::npos)
      << *page;
}

json::object box_node() {
  return to_json(NodeView{.name = "box",
                          .created_at = kToday - hours{30},
                          .since = kToday - hours{30},
                          .version = "0.1.0",
                          .kernel = "6.1.0-18-amd64",
                          .architecture = "amd64",
                          .cpus = 16,
                          .reserved_cpus = 2,
                          .memory = std::int64_t{64} << 30U,
                          .policy = "static",
                          .confinement = "cgroup v2"});
}

TEST(DescribeNode, TellsHowItIsSetUpAndWhoHasWhat) {
  const json::object node = box_node();
  const CpuMap map = busy_map();
  const json::array pods{database_pod()};
  EventView event = event_of("CpusOffline", kToday - hours{2}, 1);
  event.kind = "Node";
  event.container = "";
  event.message = "CPUs 15 went offline";
  expect_page(
      "node-page.txt",
      render_node_page({.node = node, .map = map, .pods = pods, .events = {event}, .now = kToday}));
}

TEST(CpuGrid, HasALineForEachPartOfTheMachineAndALetterForEachHolder) {
  const CpuMap map = busy_map();
  const CpuGrid grid(map);
  EXPECT_EQ(grid.key_of(map.containers[0]), 'A');
  EXPECT_EQ(grid.render(),
            "NUMA  SOCKET  L3  CPUS  WHO\n"
            "0     0       0   0-7   rr AA AA BB\n"
            "                              --\n"
            "1     1       1   8-15  BB .. .. sx\n"
            "r reserved, . shared and free to give, s shared, not to give, x offline, "
            "- below: leaving, to be given up\n");
}

TEST(CpuGrid, TellsPromisedGrownAndLeavingCpusApart) {
  CpuMap map{.topology = machine("1s48c2t"), .policy = "static"};
  map.containers = {{.namespace_name = "n",
                     .pod = "p",
                     .uid = "u",
                     .container = "c",
                     .assigned = cpus("0-5,90-91"),
                     .promised = cpus("0-1"),
                     .pending = cpus("0-3")}};
  map.shared = map.free = map.topology.cpus() - map.exclusive();
  EXPECT_EQ(
      CpuGrid(map).render(),
      "NUMA  SOCKET  L3  CPUS  WHO\n"
      "0     0       0   0-95  AA AA AA .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. ..\n"
      "                           ++ --\n"
      "                        .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. ..\n"
      "                        .. .. .. AA .. ..\n"
      "                                 --\n"
      ". shared and free to give, + below: grown beyond what was promised, "
      "- below: leaving, to be given up\n");
}

TEST(CpuGrid, BreaksLongLinesAndRunsOutOfLetters) {
  CpuMap map{.topology = machine("1s64c2t"), .policy = "static"};
  for (int cpu = 0; cpu < 100; ++cpu) {
    map.containers.push_back({.namespace_name = "n",
                              .pod = fmt::format("p{:03}", cpu),
                              .uid = fmt::format("{}", cpu),
                              .container = "c",
                              .assigned = CpuSet{CpuId(cpu)},
                              .promised = CpuSet{CpuId(cpu)}});
  }
  map.shared = map.free = map.topology.cpus() - map.exclusive();
  const CpuGrid grid(map);
  EXPECT_EQ(
      grid.render(),
      "NUMA  SOCKET  L3  CPUS   WHO\n"
      "0     0       0   0-127  AB CD EF GH IJ KL MN OP QR ST UV WX YZ 01 23 45 67 89 ab cd ef\n"
      "                         gh ij kl mn op qt uv wy z# ## ## ## ## ## ## ## ## ## ## ## ##\n"
      "                         ## ## ## ## ## ## ## ## .. .. .. .. .. .. .. .. .. .. .. .. ..\n"
      "                         ..\n"
      ". shared and free to give, # held by others\n");
}

TEST(Describe, AsksForPodsMapAndEvents) {
  const json::object pod = pod_object(kWebManifest, "Running");
  EventView own = event_of("Started", kToday, 1);
  own.namespace_name = "default";
  own.name = "web";
  own.uid = "7f0c1d52";
  own.message = "mine";
  EventView before = own;
  before.uid = "another";
  before.message = "of a pod of that name before";
  const FakeAgent agent(answering(
      {{"GET " + kCpusPath, ok(to_json(map_of_box()))},
       {"GET " + kPodsPath + "/web", ok(pod)},
       {"GET " + kPodsPath, ok(pod_list_json({pod, pod}, 3))},
       {"GET /api/v1/events?fieldSelector=involvedObject.name%3Dweb",
        ok(event_list_json({to_json(own), to_json(before)}, 3))},
       {"GET /api/v1/events?fieldSelector=involvedObject.name%3Dbox", ok(event_list_json({}, 3))},
       {"GET /api/v1/nodes", ok(node_list_json({box_node()}, 3))},
       {"GET /api/v1/pods", ok(pod_list_json({pod}, 3))}}));
  const Outcome one = run("describe pod web gone " + agent.option() + " 2>&1");
  EXPECT_EQ(one.code, 1);
  EXPECT_TRUE(one.text.starts_with("pod      default/web\n")) << one.text;
  EXPECT_NE(one.text.find("  mine\n"), std::string::npos) << one.text;
  EXPECT_EQ(one.text.find("of that name before"), std::string::npos) << one.text;
  EXPECT_TRUE(one.text.ends_with("corehold: not found\n")) << one.text;
  const Outcome all = run("describe po " + agent.option());
  EXPECT_EQ(all.code, 0);
  EXPECT_NE(all.text.find("\n\n\npod      default/web\n"), std::string::npos) << all.text;
  const Outcome node = run("describe nodes " + agent.option());
  EXPECT_EQ(node.code, 0);
  EXPECT_TRUE(node.text.starts_with("node         box\n")) << node.text;
  EXPECT_EQ(run("describe pod web -l app=web 2>/dev/null").code, 2);
  EXPECT_EQ(run("describe 2>/dev/null").code, 2);
}

}  // namespace
}  // namespace corehold
