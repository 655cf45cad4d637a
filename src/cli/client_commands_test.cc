// SPDX-License-Identifier: Apache-2.0
//
// get, logs, delete and apply against an agent that knows a few answers.
#include <fstream>
#include <map>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/cpu_map.h"
#include "api/event_object.h"
#include "api/node_object.h"
#include "api/pod_object.h"
#include "api/status.h"
#include "cli/agent_testing.h"
#include "cli/testing.h"
#include "pod/pod_json.h"
#include "pod/pod_yaml.h"
#include "topology/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr const char* kManifest = R"(
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: shop}}
spec:
  containers:
  - name: main
    command: [sleep, "1000"]
    resources: {limits: {cpu: 2, memory: 1Gi}}
)";

using Answers = std::map<std::string, HttpResponse>;  // by "METHOD target"

HttpResponse ok(const json::value& body) { return {.status = 200, .body = json::serialize(body)}; }

HttpResponse refusal(StatusReason reason, const std::string& message) {
  const ApiStatus status{.reason = reason, .message = message};
  return {.status = http_code(status), .body = json::serialize(to_json(status))};
}

FakeAgent::Handler answering(const Answers& answers) {
  return [answers](const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    const auto found = answers.find(request.method + " " + request.target);
    exchange->answer(found != answers.end() ? found->second
                                            : refusal(StatusReason::kNotFound, "not found"));
  };
}

json::object pod_object(const std::string& manifest, std::string_view phase) {
  Pod pod = read_manifest(manifest)->front();
  pod.uid = "7f0c1d52";
  return to_json(
      PodView{.pod = pod,
              .phase = std::string(phase),
              .scheduled = phase == "Running",
              .created_at = std::chrono::seconds{1'700'000'000},
              .host = "box",
              .containers = {{.name = "main", .stage = ContainerView::Stage::kRunning}}});
}

CpuMap map_of_box() {
  CpuMap map{.node = "box", .topology = machine("2s4c2t"), .policy = "static"};
  map.reserved = cpus("0-1");
  map.shared = cpus("0-1,4-15");
  map.free = cpus("4-15");
  map.containers = {{.namespace_name = "default",
                     .pod = "web",
                     .uid = "7f0c1d52",
                     .container = "main",
                     .assigned = cpus("2-3"),
                     .promised = cpus("2-3"),
                     .numa = nodes("0")}};
  return map;
}

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kCpus = "/apis/corehold.dev/v1alpha1/cpus";

TEST(GetCpus, ShowsTheMap) {
  const FakeAgent agent(answering({{"GET " + kCpus, ok(to_json(map_of_box()))}}));
  EXPECT_EQ(run("get cpus " + agent.option()).text,
            "machine    2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs\n"
            "policy     static\n"
            "reserved   0-1        2 CPUs\n"
            "shared     0-1,4-15  14 CPUs, 12 free to give\n"
            "exclusive  2-3        2 CPUs in 1 container\n"
            "\n"
            "POD          CONTAINER  ASSIGNED  PROMISED  PENDING  NUMA  AGE\n"
            "default/web  main       2-3       2-3       -        0     -\n");
  EXPECT_TRUE(run("get cpus -o svg " + agent.option()).text.starts_with("<svg"));
  const Outcome text = run("get cpus -o json " + agent.option());
  EXPECT_EQ(json::parse(text.text), json::value(to_json(map_of_box())));
}

TEST(GetPods, OfANamespaceOrAllOrOne) {
  const json::object pod = pod_object(kManifest, "Running");
  const FakeAgent agent(answering({{"GET " + kCpus, ok(to_json(map_of_box()))},
                                   {"GET " + kPods, ok(pod_list_json({pod}, 3))},
                                   {"GET /api/v1/pods", ok(pod_list_json({pod}, 3))},
                                   {"GET " + kPods + "/web", ok(pod)}}));
  for (const char* arguments : {"", "-A ", "web ", "default/web ", "-n default web "}) {
    const Outcome outcome = run(fmt::format("get pods {}{}", arguments, agent.option()));
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(
        outcome.text.starts_with("NAMESPACE  NAME  READY  STATUS   RESTARTS  CPUS  AGE\n"
                                 "default    web   1/1    Running  0         2-3   "))
        << outcome.text;
  }
  const Outcome missing = run("get pod gone " + agent.option() + " 2>&1");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.text, "corehold: not found\n");
}

TEST(GetPods, SaysWhyOneWaitsAndThatThereAreNone) {
  json::object pod = pod_object(kManifest, "Pending");
  pod["status"].get_object()["conditions"] = json::array{
      json::object{{"type", "PodScheduled"}, {"status", "False"}, {"message", "no\x1b[2J room"}}};
  const FakeAgent agent(answering({{"GET " + kCpus, ok(to_json(map_of_box()))},
                                   {"GET " + kPods, ok(pod_list_json({pod}, 3))},
                                   {"GET /api/v1/namespaces/db/pods", ok(pod_list_json({}, 3))}}));
  EXPECT_NE(run("get pods " + agent.option()).text.find("\ndefault/web: no\\x1b[2J room\n"),
            std::string::npos);
  EXPECT_EQ(run("get pods -n db " + agent.option() + " 2>&1").text,
            "corehold: there are no pods in namespace db; -A shows those of all\n");
}

TEST(GetNodesAndEvents, AreTables) {
  const NodeView node{.name = "box",
                      .version = "0.1.0",
                      .cpus = 16,
                      .reserved_cpus = 2,
                      .policy = "static",
                      .confinement = "affinity",
                      .note = "no cgroup can be written"};
  const EventView event{.kind = "Pod",
                        .namespace_name = "db",
                        .name = "pg-0",
                        .container = "main",
                        .type = "Warning",
                        .reason = "FailedStart",
                        .message = "no such file",
                        .count = 2};
  const FakeAgent agent(
      answering({{"GET /api/v1/nodes", ok(node_list_json({to_json(node)}, 3))},
                 {"GET /api/v1/nodes/box", ok(to_json(node))},
                 {"GET /api/v1/events", ok(event_list_json({to_json(event)}, 3))}}));
  EXPECT_EQ(run("get nodes " + agent.option()).text,
            "NAME  STATUS  CPUS  ALLOCATABLE  POLICY  CONFINEMENT  VERSION          AGE\n"
            "box   Ready   16    14           static  affinity     corehold-v0.1.0  -\n"
            "\n"
            "note  no cgroup can be written\n");
  EXPECT_EQ(run("get nodes box " + agent.option()).text, run("get nodes " + agent.option()).text);
  EXPECT_EQ(run("get nodes other " + agent.option() + " 2>/dev/null").code, 1);
  EXPECT_EQ(run("get events -A " + agent.option()).text, run("get events " + agent.option()).text);
  EXPECT_EQ(run("get events " + agent.option()).text,
            "LAST  TYPE     REASON       OBJECT       MESSAGE\n"
            "-     Warning  FailedStart  pod/db/pg-0  no such file (x2)\n");
  EXPECT_EQ(run("get events -n web " + agent.option() + " 2>&1").text,
            "corehold: there are no events\n");
}

TEST(Get, ExplainsAnswersThatMakeNoSense) {
  const FakeAgent agent(answering({{"GET " + kCpus, {.status = 200, .body = "<html>"}},
                                   {"GET /api/v1/nodes", {.status = 502, .body = "oops"}},
                                   {"GET /api/v1/pods", ok(json::object{{"kind", "Odd"}})}}));
  const auto text = [&](const std::string& what) {
    const Outcome outcome = run("get " + what + " " + agent.option() + " 2>&1");
    EXPECT_EQ(outcome.code, 1);
    return outcome.text;
  };
  EXPECT_TRUE(text("cpus").starts_with("corehold: the agent's answer to GET ")) << text("cpus");
  EXPECT_EQ(text("nodes"), "corehold: the agent answers with HTTP 502 and no reason\n");
  EXPECT_EQ(text("pods -A"), "corehold: kind: must be PodList, not \"Odd\"\n");
}

TEST(Logs, StreamsTheText) {
  const FakeAgent agent([](const HttpExchangePtr& exchange) {
    if (exchange->request().target.find("gone") != std::string::npos) {
      return exchange->answer(refusal(StatusReason::kNotFound, "pods \"gone\" not found"));
    }
    exchange->begin(200, "text/plain");
    exchange->write("one\n");
    exchange->write("two\n");
    exchange->end();
  });
  EXPECT_EQ(run("logs web " + agent.option()).text, "one\ntwo\n");
  EXPECT_EQ(run("logs db/pg-0 -c 'a b' -f -p --tail 5 --timestamps " + agent.option()).code, 0);
  EXPECT_NE(agent.requests().find("GET /api/v1/namespaces/db/pods/pg-0/log?container=a%20b&"
                                  "tailLines=5&follow=true&previous=true&timestamps=true\n"),
            std::string::npos)
      << agent.requests();
  const Outcome gone = run("logs gone " + agent.option() + " 2>&1");
  EXPECT_EQ(gone.code, 1);
  EXPECT_EQ(gone.text, "corehold: pods \"gone\" not found\n");
  EXPECT_EQ(run("logs a/b/c 2>/dev/null").code, 2);
  EXPECT_EQ(run("logs db/pg-0 -n web 2>/dev/null").code, 2);
  EXPECT_EQ(run("logs web --tail x 2>/dev/null").code, 2);
}

TEST(Delete, WaitsUntilThePodIsGone) {
  const std::string pod = json::serialize(pod_object(kManifest, "Running"));
  int asked = 0;
  const FakeAgent agent([pod, asked](const HttpExchangePtr& exchange) mutable {
    const bool there = exchange->request().method == "DELETE" || ++asked < 3;
    exchange->answer(there ? HttpResponse{.status = 200, .body = pod}
                           : refusal(StatusReason::kNotFound, "gone"));
  });
  EXPECT_EQ(run("delete pod web --grace-period 5 " + agent.option()).text,
            "pod default/web deleted\n");
  EXPECT_EQ(agent.requests(),
            "DELETE /api/v1/namespaces/default/pods/web?gracePeriodSeconds=5\n"
            "GET /api/v1/namespaces/default/pods/web\n"
            "GET /api/v1/namespaces/default/pods/web\n"
            "GET /api/v1/namespaces/default/pods/web\n");
}

TEST(Delete, DoesNotWaitWhenToldSo) {
  const json::object pod = pod_object(kManifest, "Running");
  const FakeAgent agent(answering({{"DELETE " + kPods + "/web?gracePeriodSeconds=1", ok(pod)}}));
  const Outcome outcome =
      run("delete pod web gone --now --wait=false " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(outcome.text, "pod default/web is being deleted\n");
  EXPECT_EQ(outcome.code, 1) << "one of two was not there";
}

TEST(Apply, CreatesWhatIsNew) {
  const FakeAgent agent(
      answering({{"POST " + kPods,
                  {.status = 201, .body = json::serialize(pod_object(kManifest, "Pending"))}}}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kManifest;
  EXPECT_EQ(run("apply -f " + file + " " + agent.option()).text, "pod default/web created\n");
  EXPECT_EQ(run("apply -f - " + agent.option(), "cat " + file + " |").text,
            "pod default/web created\n");
  const Outcome elsewhere = run("apply -n db -f " + file + " " + agent.option() + " 2>&1");
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_EQ(elsewhere.text, "corehold: pod db/web: not found\n");
}

TEST(Apply, LeavesWhatIsThereAloneAndSaysHowItDiffers) {
  const FakeAgent agent(
      answering({{"POST " + kPods, refusal(StatusReason::kAlreadyExists, "exists")},
                 {"GET " + kPods + "/web", ok(pod_object(kManifest, "Running"))}}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kManifest;
  EXPECT_EQ(run("apply -f " + file + " " + agent.option()).text, "pod default/web unchanged\n");
  std::string other = kManifest;
  other.replace(other.find("1000"), 4, "2000");
  std::ofstream(file) << other;
  const Outcome outcome = run("apply -f " + file + " " + agent.option() + " 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text,
            "corehold: pod default/web: it is there already, with another spec.containers; "
            "corehold delete pod default/web first\n");
}

TEST(Apply, NamesThePodOnceAndWarnsOfWhatIsHardlyMeant) {
  const FakeAgent refusing(answering(
      {{"POST " + kPods, refusal(StatusReason::kInvalid, "pod default/web: no command")}}));
  const std::string file = refusing.directory() + "/pods.yaml";
  std::string manifest = kManifest;
  manifest.replace(manifest.find("command"), 7, "comand");
  std::ofstream(file) << manifest;
  EXPECT_EQ(run("apply -f " + file + " " + refusing.option() + " 2>&1").text,
            "corehold: pod default/web: no command\n");
  const FakeAgent agent(
      answering({{"POST " + kPods,
                  {.status = 201, .body = json::serialize(pod_object(kManifest, "Pending"))}}}));
  EXPECT_EQ(run("apply -f " + file + " " + agent.option() + " 2>&1 >/dev/null").text,
            "corehold: warning: pod default/web: spec.containers[0].comand: is not a known field; "
            "did you mean command?\n");
}

TEST(Apply, RefusesWhatIsNoPod) {
  const FakeAgent agent(answering({}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kManifest << "---\nkind: Deployment\nmetadata: {name: web}\n";
  const Outcome outcome = run("apply -f " + file + " " + agent.option() + " 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("Deployment"), std::string::npos) << outcome.text;
  EXPECT_EQ(agent.requests(), "") << "nothing is done by halves";
  EXPECT_EQ(run("apply -f /nonexistent 2>/dev/null").code, 1);
}

}  // namespace
}  // namespace corehold
