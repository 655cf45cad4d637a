// SPDX-License-Identifier: Apache-2.0
//
// resize against an agent that keeps one pod, patches it as the real one does and then takes
// the turns that a test gives it, one for every look at the pod.
#include <chrono>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/patch/patch.h"
#include "cli/client/client_testing.h"
#include "cli/resize/live_line.h"
#include "cli/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

const char* const kTwoContainers = R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: setup, command: [true], resources: {limits: {cpu: 1, memory: 1Gi}}}
  - {name: log, restartPolicy: Always, command: [log], resources: {limits: {cpu: 1, memory: 1Gi}}}
  containers:
  - {name: main, command: [web], resources: {limits: {cpu: 2, memory: 1Gi}}}
)";

const char* const kBurstable = R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: main
    command: [web]
    resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 2Gi}}
)";

constexpr std::chrono::hours kSomeDay{500'000};

struct Turn {
  std::string reason{};  // of PodResizePending; "": there is none
  std::string message{};
  bool in_progress = false;
  bool leaving = false;  // CPUs are about to be taken
  int left = 0;          // then, in milliseconds; 0: that is not known
  bool done = false;
};

void show(json::object& pod, const Turn& turn) {
  json::object& status = pod["status"].as_object();
  json::array conditions;
  if (!turn.reason.empty()) {
    conditions.push_back({{"type", "PodResizePending"},
                          {"status", "True"},
                          {"reason", turn.reason},
                          {"message", turn.message}});
  }
  if (turn.in_progress) {
    conditions.push_back({{"type", "PodResizeInProgress"}, {"status", "True"}});
  }
  status["conditions"] = std::move(conditions);
  if (!turn.done) return;
  json::array statuses;
  for (const json::value& value : pod["spec"].at("containers").as_array()) {
    statuses.push_back({{"name", value.at("name")}, {"resources", value.at("resources")}});
  }
  status["containerStatuses"] = std::move(statuses);
}

// The first turn is what the PATCH answers with; the last one stays.
FakeAgent::Handler taking(std::vector<Turn> turns, const std::string& manifest = kWebManifest) {
  return [turns = std::move(turns), pod = pod_object(manifest, "Running"), asked = false,
          at = std::size_t{0}](const HttpExchangePtr& exchange) mutable {
    const HttpRequest& request = exchange->request();
    if (request.target == kCpusPath) {
      CpuMap map = map_of_box();
      if (asked && turns[at].done) map.containers[0].assigned = *CpuSet::parse("2-5");
      if (asked && turns[at].leaving) {
        map.containers[0].assigned = *CpuSet::parse("2-5");
        map.containers[0].pending = *CpuSet::parse("2-3");
        const std::chrono::milliseconds left(turns[at].left);
        if (left.count() > 0) {
          map.containers[0].pending_for = left;
          // All that is left of one delay is within the same second.
          map.containers[0].pending_until =
              kSomeDay + std::chrono::ceil<std::chrono::seconds>(left);
        }
      }
      return exchange->answer(ok(to_json(map)));
    }
    if (request.target.find("/pods/web") == std::string::npos) {
      return exchange->answer(refusal(StatusReason::kNotFound, "not found"));
    }
    if (request.method == "PATCH") {
      auto patched = apply_patch("Pod", pod, {.kind = PatchKind::kStrategic, .body = request.body});
      if (!patched) {
        return exchange->answer(refusal(patched.error().reason, patched.error().message));
      }
      pod = *std::move(patched);
      asked = true;
    } else if (asked && at + 1 < turns.size()) {
      ++at;
    }
    if (asked) show(pod, turns[at]);
    answer_with(exchange, 200, json::serialize(pod));
  };
}

Outcome resize(const FakeAgent& agent, const std::string& arguments) {
  return run("resize pod " + arguments + " " + agent.option() + " 2>&1");
}

json::value patch_of(const FakeAgent& agent) {
  const std::string requests = agent.requests();
  const std::size_t at = requests.find("PATCH ");
  EXPECT_NE(at, std::string::npos) << requests;
  if (at == std::string::npos) return {};
  const std::string line = requests.substr(at, requests.find('\n', at) - at);
  EXPECT_EQ(line.find("PATCH " + kPodsPath + "/web/resize?"), 0U) << line;
  return json::parse(line.substr(line.find('{')));
}

TEST(Resize, SendsOnlyTheContainersAmountsAndKeepsThePodGuaranteed) {
  const FakeAgent agent(taking({{}}));
  const Outcome outcome = resize(agent, "web --cpu 4");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text, "pod default/web asked for: main cpu 2 -> 4\n");
  EXPECT_EQ(patch_of(agent), json::parse(R"({"spec": {"containers": [{"name": "main",
      "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}}]}})"));
}

TEST(Resize, LimitsNothingThatWasNotLimited) {
  const FakeAgent agent(taking({{}}, kBurstable));
  const Outcome outcome = resize(agent, "web --cpu 1500m --memory 1536Mi");
  EXPECT_EQ(outcome.text,
            "pod default/web asked for: main cpu 500m -> 1500m, memory 1Gi -> 1536Mi\n");
  EXPECT_EQ(patch_of(agent), json::parse(R"({"spec": {"containers": [{"name": "main",
      "resources": {"requests": {"cpu": "1500m", "memory": "1536Mi"},
                    "limits": {"memory": "2Gi"}}}]}})"));
}

TEST(Resize, SeveralContainersAreOneResize) {
  const FakeAgent agent(taking({{}}, kTwoContainers));
  const Outcome outcome = resize(agent, "web -c main --cpu 4 -c log --cpu 2");
  EXPECT_EQ(outcome.text, "pod default/web asked for: main cpu 2 -> 4; log cpu 1 -> 2\n");
  const json::value patch = patch_of(agent);
  EXPECT_EQ(patch.at("spec").at("containers").at(0).at("name"), "main");
  EXPECT_EQ(patch.at("spec").at("initContainers").at(0).at("name"), "log");
}

TEST(Resize, NamesTheContainersThereAre) {
  const FakeAgent agent(taking({{}}, kTwoContainers));
  Outcome outcome = resize(agent, "web --cpu 4");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.text.find(
                "corehold: pod default/web has the containers log, main; say which with -c\n"),
            0U)
      << outcome.text;
  outcome = resize(agent, "web -c mian --cpu 4");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(
      outcome.text.find("corehold: pod default/web has no container \"mian\"; it has log, main\n"),
      0U)
      << outcome.text;
  EXPECT_EQ(agent.requests().find("PATCH"), std::string::npos);
}

TEST(Resize, BadUsageIsTwo) {
  const FakeAgent agent(taking({{}}));
  const std::pair<const char*, const char*> cases[] = {
      {"web", "say what it should have, with --cpu, --memory or both"},
      {"web --cpu 0", "--cpu: \"0\" is not above zero"},
      {"web --cpu two", "--cpu: \"two\" is no amount: write one as in 4, 500m or 512Mi"},
      {"web --cpu 2 --cpu 4", "--cpu is given 2 times, for 1 container: "},
      {"web -c main -c main --cpu 2 --cpu 4", "-c main is given twice"},
      {"web --cpu 4 --timeout 3", "--timeout goes with --wait"},
      {"a/b/c --cpu 4", ""},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = resize(agent, arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.text.find(std::string("corehold: ") + message), 0U) << outcome.text;
  }
}

TEST(Resize, WaitsAndTellsHowItGoes) {
  std::vector<Turn> turns{{},
                          {.reason = "Deferred", .message = "held by default/b"},
                          {.reason = "Deferred", .message = "held by default/b"}};
  // Longer than is worth no word, at one look in a fifth of a second.
  turns.insert(turns.end(), 12, {.in_progress = true});
  turns.push_back({.done = true});
  const FakeAgent agent(taking(turns));
  const Outcome outcome = resize(agent, "web --cpu 4 --wait");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text,
            "pod default/web asked for: main cpu 2 -> 4\n"
            "corehold: Deferred: held by default/b\n"
            "corehold: in progress: main has 2-3\n"
            "pod default/web resized: main has 2-5\n");
}

TEST(Resize, TellsWhichCpusWillLeave) {
  std::vector<Turn> turns{{}};
  turns.insert(turns.end(), 12, {.in_progress = true, .leaving = true});
  turns.push_back({.done = true});
  const FakeAgent agent(taking(turns));
  const Outcome outcome = resize(agent, "web --cpu 2 --wait");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("corehold: in progress: main has 2-5, of which 4-5 will leave\n"),
            std::string::npos)
      << outcome.text;
}

TEST(Resize, TellsOfEachDelayOnceWhereLinesCannotChange) {
  std::vector<Turn> turns{{}};
  for (const int left : {2950, 2900, 2800, 9950, 9900, 800}) {
    turns.push_back({.in_progress = true, .leaving = true, .left = left});
  }
  turns.push_back({.done = true});
  const FakeAgent agent(taking(turns));
  const Outcome outcome = resize(agent, "web --cpu 2 --wait");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text,
            "pod default/web asked for: main cpu 2 -> 2\n"
            "corehold: in progress: main has 2-5, of which 4-5 will leave in 3s\n"
            "corehold: in progress: main has 2-5, of which 4-5 will leave in 10s\n"
            "corehold: in progress: main has 2-5, of which 4-5 will leave in 0.8s\n"
            "pod default/web resized: main has 2-5\n");
}

TEST(LiveLine, IsNoLongerThanTheTerminalIsWide) {
  EXPECT_EQ(fitted("abc", 5), "abc");
  EXPECT_EQ(fitted("abcdef", 5), "abcde");
  EXPECT_EQ(fitted("\u00e4\u00f6\u00fcx", 3), "\u00e4\u00f6\u00fc") << "characters, not bytes";
  EXPECT_EQ(fitted("", 5), "");
}

TEST(Resize, InfeasibleIsAFailureWhetherItWaitsOrNot) {
  const Turn never{.reason = "Infeasible", .message = "a NUMA node has 6"};
  for (const char* wait : {"", " --wait"}) {
    const FakeAgent agent(taking({never}));
    const Outcome outcome = resize(agent, std::string("web --cpu 8") + wait);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.text,
              "pod default/web asked for: main cpu 2 -> 8\n"
              "corehold: pod default/web: Infeasible: a NUMA node has 6\n"
              "corehold: it stays asked for; this takes it back: corehold resize pod default/web "
              "-c main --cpu 2\n");
  }
}

TEST(Resize, WithoutWaitingDeferredIsOnlyTold) {
  const FakeAgent agent(taking({{.reason = "Deferred", .message = "held by default/b"}}));
  const Outcome outcome = resize(agent, "web --cpu 8");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text,
            "pod default/web asked for: main cpu 2 -> 8\ncorehold: Deferred: held by default/b\n");
}

TEST(Resize, GivesUpWhenTheTimeIsOver) {
  const FakeAgent agent(taking({{.reason = "Deferred", .message = "held by default/b"}}));
  const Outcome outcome = resize(agent, "web --cpu 8 --wait --timeout 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("corehold: pod default/web is not resized after 1s: Deferred: held "
                              "by default/b; it stays asked for\n"),
            std::string::npos)
      << outcome.text;
}

TEST(Resize, GivesUpOnAnAgentThatHangsWhenTheTimeIsOver) {
  const FakeAgent agent([take = taking({{}}), kept = std::vector<HttpExchangePtr>{},
                         has_asked = false](const HttpExchangePtr& exchange) mutable {
    if (has_asked) return kept.push_back(exchange);
    has_asked = exchange->request().method == "PATCH";
    take(exchange);
  });
  const Outcome outcome = resize(agent, "web --cpu 4 --wait --timeout 1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(
      outcome.text.ends_with("corehold: pod default/web is not resized after 1s: the agent "
                             "does not answer; it stays asked for\n"))
      << outcome.text;
}

TEST(Resize, TellsWhatTheApiRefuses) {
  const json::object pod = pod_object(kWebManifest, "Running");
  const FakeAgent agent(answering(
      {{"GET " + kPodsPath + "/web", ok(pod)},
       {"PATCH " + kPodsPath + "/web/resize?fieldManager=corehold-resize",
        refusal(StatusReason::kInvalid, "Pod QOS Class may not change as a result of resizing")}}));
  const Outcome outcome = resize(agent, "web --cpu 4");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text, "corehold: Pod QOS Class may not change as a result of resizing\n");
  EXPECT_EQ(resize(agent, "other --cpu 4").code, 1);
}

}  // namespace
}  // namespace corehold
