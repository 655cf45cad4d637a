// SPDX-License-Identifier: Apache-2.0
//
// apply against an agent that keeps one pod and patches it as the real one does.
#include <fstream>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/patch/patch.h"
#include "api/status.h"
#include "cli/client/client_testing.h"
#include "cli/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Knows no pod until one is created; then keeps it, with a version that grows.
FakeAgent::Handler keeping_one(const std::string& manifest = "") {
  json::object pod;
  if (!manifest.empty()) pod = pod_object(manifest, "Running");
  return [pod, version = 1](const HttpExchangePtr& exchange) mutable {
    const HttpRequest& request = exchange->request();
    const auto answer = [&](int status) {
      pod["metadata"].get_object()["resourceVersion"] = std::to_string(version);
      answer_with(exchange, status, json::serialize(pod));
    };
    if (request.method == "POST") {
      pod = json::parse(request.body).get_object();
      pod["status"] = json::object{{"phase", "Pending"}};
      return answer(201);
    }
    if (pod.empty()) return exchange->answer(refusal(StatusReason::kNotFound, "not found"));
    if (request.method == "GET") return answer(200);
    auto patched = apply_patch("Pod", pod, {.kind = PatchKind::kStrategic, .body = request.body});
    if (!patched) return exchange->answer(refusal(patched.error().reason, patched.error().message));
    const json::object before = pod;
    pod = *std::move(patched);
    if (before.at("spec") != pod.at("spec")) {
      pod = before;
      return exchange->answer(
          refusal(StatusReason::kInvalid,
                  "spec: Forbidden: pod updates may not change fields\n@@ -1 +1 @@\n"));
    }
    if (pod != before) ++version;
    answer(200);
  };
}

class ApplyTest : public testing::Test {
 protected:
  Outcome apply(const FakeAgent& agent, const std::string& manifest) {
    const std::string file = agent.directory() + "/pods.yaml";
    std::ofstream(file) << manifest;
    return run("apply -f " + file + " " + agent.option() + " 2>&1");
  }
  static std::string with(std::string manifest, std::string_view what, std::string_view instead) {
    return manifest.replace(manifest.find(what), what.size(), instead);
  }
};

TEST_F(ApplyTest, CreatesThenChangesOnlyWhatTheManifestSaysOtherwise) {
  const FakeAgent agent(keeping_one());
  EXPECT_EQ(apply(agent, kWebManifest).text, "pod default/web created\n");
  EXPECT_EQ(apply(agent, kWebManifest).text, "pod default/web unchanged\n");
  const std::string labelled = with(kWebManifest, "app: shop", "app: shop, tier: front");
  EXPECT_EQ(apply(agent, labelled).text, "pod default/web configured\n");
  EXPECT_EQ(apply(agent, labelled).text, "pod default/web unchanged\n");
  const std::string other = with(kWebManifest, "app: shop", "tier: back");
  EXPECT_EQ(apply(agent, other).text, "pod default/web configured\n");
  const json::value pod = json::parse(run("get pods web -o json " + agent.option()).text);
  EXPECT_EQ(pod.at("metadata").at("labels"), (json::object{{"tier", "back"}}))
      << "what the manifest no longer says is gone";
}

TEST_F(ApplyTest, SendsAPatchWithWhatDiffersAndNothingElse) {
  const FakeAgent agent(keeping_one());
  apply(agent, kWebManifest);
  apply(agent, with(kWebManifest, "app: shop", "app: shop, tier: front"));
  const std::string requests = agent.requests();
  const std::size_t at = requests.find("PATCH ");
  ASSERT_NE(at, std::string::npos) << requests;
  const std::string line = requests.substr(at, requests.find('\n', at) - at);
  json::object patch = json::parse(line.substr(line.find('{'))).get_object();
  json::object& metadata = patch.at("metadata").get_object();
  EXPECT_TRUE(metadata.at("annotations")
                  .get_object()
                  .contains("kubectl.kubernetes.io/last-applied-configuration"));
  metadata.erase("annotations");
  EXPECT_EQ(
      patch,
      (json::object{{"metadata", json::object{{"labels", json::object{{"tier", "front"}}}}}}));
}

TEST_F(ApplyTest, GoesOnWherePodsWereMadeByOtherMeans) {
  const FakeAgent agent(keeping_one(kWebManifest));
  EXPECT_EQ(apply(agent, kWebManifest).text, "pod default/web configured\n") << "with the note";
  EXPECT_EQ(apply(agent, kWebManifest).text, "pod default/web unchanged\n");
}

TEST_F(ApplyTest, SaysWhatCanBeDoneAboutAChangeThatIsRefused) {
  const FakeAgent agent(keeping_one());
  apply(agent, kWebManifest);
  const Outcome outcome = apply(agent, with(kWebManifest, "1000", "2000"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text,
            "corehold: pod default/web: spec: Forbidden: pod updates may not change fields; "
            "corehold delete pod default/web first\n");
}

TEST_F(ApplyTest, DoesNotTakeAPodThatIsBeingDeletedForTheOneAskedFor) {
  json::object pod = pod_object(kWebManifest, "Running");
  pod["metadata"].get_object()["deletionTimestamp"] = "2026-11-16T04:57:42Z";
  const FakeAgent agent(answering({{"GET " + kPodsPath + "/web", ok(pod)}}));
  EXPECT_EQ(apply(agent, kWebManifest).text,
            "corehold: pod default/web: it is being deleted; apply it again when it is gone\n");
}

TEST_F(ApplyTest, ReadsStandardInputAndPutsPodsIntoTheNamespace) {
  const FakeAgent agent(
      answering({{"POST " + kPodsPath + "?fieldManager=corehold-client-side-apply",
                  {.status = 201, .body = json::serialize(pod_object(kWebManifest, "Pending"))}}}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kWebManifest;
  EXPECT_EQ(run("apply -f - " + agent.option(), "cat " + file + " |").text,
            "pod default/web created\n");
  const Outcome elsewhere = run("apply -n db -f " + file + " " + agent.option() + " 2>&1");
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_EQ(elsewhere.text, "corehold: pod db/web: not found\n");
}

TEST(Apply, NamesThePodOnceAndWarnsOfWhatIsHardlyMeant) {
  const FakeAgent refusing(
      answering({{"POST " + kPodsPath + "?fieldManager=corehold-client-side-apply",
                  refusal(StatusReason::kInvalid, "pod default/web: no command")}}));
  const std::string file = refusing.directory() + "/pods.yaml";
  std::string manifest = kWebManifest;
  manifest.replace(manifest.find("command"), 7, "comand");
  std::ofstream(file) << manifest;
  EXPECT_EQ(run("apply -f " + file + " " + refusing.option() + " 2>&1").text,
            "corehold: pod default/web: no command\n");
  const FakeAgent agent(
      answering({{"POST " + kPodsPath + "?fieldManager=corehold-client-side-apply",
                  {.status = 201, .body = json::serialize(pod_object(kWebManifest, "Pending"))}}}));
  EXPECT_EQ(run("apply -f " + file + " " + agent.option() + " 2>&1 >/dev/null").text,
            "corehold: warning: pod default/web: spec.containers[0].comand: is not a known field; "
            "did you mean command?\n");
}

TEST(Apply, RefusesWhatIsNoPod) {
  const FakeAgent agent(answering({}));
  const std::string file = agent.directory() + "/pods.yaml";
  std::ofstream(file) << kWebManifest << "---\nkind: Deployment\nmetadata: {name: web}\n";
  const Outcome outcome = run("apply -f " + file + " " + agent.option() + " 2>&1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("Deployment"), std::string::npos) << outcome.text;
  EXPECT_EQ(agent.requests(), "") << "nothing is done by halves";
  EXPECT_EQ(run("apply -f /nonexistent 2>/dev/null").code, 1);
}

}  // namespace
}  // namespace corehold
