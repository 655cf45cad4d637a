// SPDX-License-Identifier: Apache-2.0
//
// get, logs and delete against an agent that knows a few answers.
#include <fstream>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/node/event_object.h"
#include "api/node/node_object.h"
#include "api/pod/pod_object.h"
#include "api/status.h"
#include "cli/client/client_testing.h"
#include "cli/testing.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

namespace json = boost::json;

TEST(GetCpus, ShowsTheMap) {
  const FakeAgent agent(answering({{"GET " + kCpusPath, ok(to_json(map_of_box()))}}));
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
  const json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(answering({{"GET " + kCpusPath, ok(to_json(map_of_box()))},
                                   {"GET " + kPodsPath, ok(pod_list_json({pod}, 3))},
                                   {"GET /api/v1/pods", ok(pod_list_json({pod}, 3))},
                                   {"GET " + kPodsPath + "/web", ok(pod)}}));
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
  json::object pod = pod_object(kWebManifest, "Pending");
  pod["status"].get_object()["conditions"] = json::array{
      json::object{{"type", "PodScheduled"}, {"status", "False"}, {"message", "no\x1b[2J room"}}};
  const FakeAgent agent(answering({{"GET " + kCpusPath, ok(to_json(map_of_box()))},
                                   {"GET " + kPodsPath, ok(pod_list_json({pod}, 3))},
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
                 {"GET /api/v1/events", ok(event_list_json({to_json(event)}, 3))},
                 {"GET /api/v1/namespaces/web/events", ok(event_list_json({}, 3))}}));
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
            "corehold: there are no events in namespace web; -A shows those of all\n");
  EXPECT_EQ(run("get ev -A " + agent.option()).text, run("get events " + agent.option()).text);
  EXPECT_EQ(run("get no " + agent.option()).text, run("get nodes " + agent.option()).text);
}

TEST(Get, ExplainsAnswersThatMakeNoSense) {
  const FakeAgent agent(answering({{"GET " + kCpusPath, {.status = 200, .body = "<html>"}},
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
  const std::string pod = json::serialize(pod_object(kWebManifest, "Running"));
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
  const json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(
      answering({{"DELETE " + kPodsPath + "/web?gracePeriodSeconds=1", ok(pod)}}));
  const Outcome outcome =
      run("delete pod web gone --now --wait=false " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(outcome.text, "pod default/web is being deleted\n");
  EXPECT_EQ(outcome.code, 1) << "one of two was not there";
}

TEST(GetCpus, OfChosenPodsOnly) {
  const json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(
      answering({{"GET " + kCpusPath, ok(to_json(map_of_box()))},
                 {"GET /api/v1/pods?labelSelector=app%3Dshop", ok(pod_list_json({pod}, 3))},
                 {"GET /api/v1/pods?labelSelector=app%3Dno", ok(pod_list_json({}, 3))}}));
  const std::string row = "default/web  main       2-3 ";
  for (const char* chosen : {"web", "default/web", "-n default", "-A", "-l app=shop"}) {
    const Outcome outcome = run(fmt::format("get cpus {} {}", chosen, agent.option()));
    EXPECT_NE(outcome.text.find(row), std::string::npos) << chosen << "\n" << outcome.text;
  }
  for (const char* others : {"-n db", "-l app=no"}) {
    const Outcome outcome = run(fmt::format("get cpus {} {}", others, agent.option()));
    EXPECT_EQ(outcome.text.find(row), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("exclusive  2-3        2 CPUs in 1 container\n"), std::string::npos)
        << "what others have does not go away";
  }
  EXPECT_EQ(json::parse(run("get cpus -n db -o json " + agent.option()).text).at("containers"),
            json::array());
  EXPECT_NE(run("get cpus -n db -o svg " + agent.option()).text.find("of others"),
            std::string::npos);
  const Outcome none = run("get cpus gone " + agent.option() + " 2>&1");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.text, "corehold: gone holds no CPUs of its own\n");
}

TEST(GetPods, BySeveralNamesShowsThoseThatThereAre) {
  const json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(answering(
      {{"GET " + kCpusPath, ok(to_json(map_of_box()))}, {"GET " + kPodsPath + "/web", ok(pod)}}));
  const Outcome both = run("get pods web gone " + agent.option() + " 2>&1");
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.text.find("default    web   1/1"), std::string::npos) << both.text;
  EXPECT_TRUE(both.text.ends_with("corehold: not found\n")) << both.text;
  const json::value list = json::parse(run("get pods web web -o json " + agent.option()).text);
  EXPECT_EQ(list.at("kind"), "List");
  EXPECT_EQ(list.at("items"), (json::array{pod, pod}));
}

TEST(GetPods, AsksForWhatIsSelected) {
  const FakeAgent agent(answering({}));
  run("get po -n db -l 'app in (a,b),!old' --field-selector status.phase=Running " +
      agent.option() + " 2>/dev/null");
  EXPECT_EQ(agent.requests(),
            "GET /api/v1/namespaces/db/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21old&"
            "fieldSelector=status.phase%3DRunning\n");
}

TEST(GetPods, WideAndYaml) {
  json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(answering(
      {{"GET " + kCpusPath, ok(to_json(map_of_box()))}, {"GET " + kPodsPath + "/web", ok(pod)}}));
  const Outcome wide = run("get pods web -o wide " + agent.option());
  EXPECT_NE(wide.text.find("  NUMA  QOS         NODE\n"), std::string::npos) << wide.text;
  EXPECT_NE(wide.text.find("  0     Guaranteed  box\n"), std::string::npos) << wide.text;
  const auto back = parse_yaml(run("get pods web -o yaml " + agent.option()).text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->front(), json::value(pod));
}

TEST(Logs, OfAllContainersAndNotWhatIsOlder) {
  const std::string pod = json::serialize(json::object{
      {"spec", json::object{{"initContainers", json::array{json::object{{"name", "setup"}}}},
                            {"containers", json::array{json::object{{"name", "a"}},
                                                       json::object{{"name", "b"}}}}}}});
  const FakeAgent agent([pod](const HttpExchangePtr& exchange) {
    const std::string& target = exchange->request().target;
    if (target.find("/log") == std::string::npos) return answer_with(exchange, 200, pod);
    if (target.find("=setup") != std::string::npos) {
      return exchange->answer(refusal(StatusReason::kBadRequest, "is waiting to start"));
    }
    const std::string name = target.find("container=a") != std::string::npos ? "a" : "b";
    exchange->begin(200, "text/plain");
    exchange->write(name + " one\n" + name + " two");
    exchange->end();
  });
  const Outcome all =
      run("logs web --all-containers --prefix --since 1.5m " + agent.option() + " 2>&1");
  EXPECT_EQ(all.text,
            "corehold: container setup: is waiting to start\n"
            "[a] a one\n[a] a two\n[b] b one\n[b] b two\n");
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(agent.requests().find("/log?container=a&sinceSeconds=90\n"), std::string::npos)
      << agent.requests();
  // Both at once: their order is not known, but lines stay whole.
  const Outcome followed =
      run("logs web --all-containers -f " + agent.option() + " 2>/dev/null | sort");
  EXPECT_EQ(followed.text, "a one\na two\nb one\nb two\n");
  EXPECT_EQ(run("logs web --prefix " + agent.option() + " 2>&1").text,
            "corehold: pod default/web has the containers setup, a, b; say which with -c, or "
            "--all-containers\n");
  EXPECT_EQ(run("logs web --since soon 2>/dev/null").code, 2);
}

TEST(Delete, TakesManifestsSelectorsAndAll) {
  const json::object web = pod_object(kWebManifest, "Running");
  const FakeAgent agent(
      answering({{"GET " + kPodsPath, ok(pod_list_json({web}, 3))},
                 {"GET " + kPodsPath + "?labelSelector=app%3Dshop", ok(pod_list_json({web}, 3))},
                 {"GET /api/v1/pods?labelSelector=app%3Dno", ok(pod_list_json({}, 3))},
                 {"DELETE " + kPodsPath + "/web", ok(web)}}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kWebManifest;
  for (const char* how :
       {"pods --all", "pod -l app=shop", "po web", "pod web gone --ignore-not-found"}) {
    const Outcome outcome = run(fmt::format("delete {} --wait=false {} 2>&1", how, agent.option()));
    EXPECT_EQ(outcome.text, "pod default/web is being deleted\n") << how;
    EXPECT_EQ(outcome.code, 0) << how;
  }
  EXPECT_EQ(run("delete -f " + file + " --wait=false " + agent.option()).text,
            "pod default/web is being deleted\n");
  EXPECT_EQ(run("delete pods -A -l app=no " + agent.option() + " 2>&1").text,
            "corehold: there are no such pods\n");
}

TEST(Completion, AsksTheAgentForNames) {
  json::object other = pod_object(kWebManifest, "Pending");
  other["metadata"].get_object()["namespace"] = "db";
  const json::object web = pod_object(kWebManifest, "Running");
  const json::object space{{"metadata", json::object{{"name", "db"}}}};
  const FakeAgent agent(
      answering({{"GET /api/v1/pods", ok(pod_list_json({web, other}, 3))},
                 {"GET /api/v1/namespaces", ok(json::object{{"items", json::array{space}}})},
                 {"GET /api/v1/nodes", ok(json::object{{"items", json::array{space}}})},
                 {"GET " + kPodsPath + "/web", ok(web)}}));
  const auto offers = [&](const std::string& words) {
    const std::size_t last = words.rfind(' ');
    return run(fmt::format("complete -- {} {}{}", words.substr(0, last), agent.option(),
                           words.substr(last)))
        .text;
  };
  EXPECT_EQ(offers("get pods ''"), "web\tRunning\ndb/web\tPending\n");
  EXPECT_EQ(offers("delete pod w"), "web\tRunning\n");
  EXPECT_EQ(offers("resize pod w"), "web\tRunning\n");
  EXPECT_EQ(offers("logs d"), "db/web\tPending\n");
  EXPECT_EQ(offers("describe pod -n db ''"), "web\tPending\n");
  EXPECT_EQ(run("complete -- logs web " + agent.option() + " -c ''").text, "main\n");
  EXPECT_EQ(run("complete -- get pods " + agent.option() + " -n ''").text, "db\n");
  EXPECT_EQ(offers("get nodes ''"), "db\n");
}

}  // namespace
}  // namespace corehold
