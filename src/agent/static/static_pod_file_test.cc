// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_pod_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/workspace/launch.h"

namespace corehold {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPath = "/pods/web.yaml";
const PodRules kRules{.image_required = false, .node = NodeRules{.unrunnable = mistakes_of}};
constexpr const char* kWeb = R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    app: web
spec:
  containers:
  - name: main
    command: [sleep, "1000"]
    resources:
      limits: {cpu: "2", memory: 1Mi}
)";

Pod read(const std::string& text, const std::string& path = kPath,
         const std::string& node = "node-1") {
  std::vector<std::string> warnings;
  const auto pod = read_static_pod(text, path, {.node_name = node, .pod_rules = kRules}, warnings);
  EXPECT_THAT(warnings, testing::IsEmpty());
  EXPECT_TRUE(pod) << pod.error().message;
  return pod ? *pod : Pod{};
}

std::string mistake(const std::string& text) {
  std::vector<std::string> warnings;
  const auto pod =
      read_static_pod(text, kPath, {.node_name = "node-1", .pod_rules = kRules}, warnings);
  EXPECT_FALSE(pod);
  return pod ? "" : pod.error().message;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(StaticPodFile, IsNamedAfterTheNodeAndMarkedLikeAMirrorPod) {
  const Pod pod = read(kWeb);
  EXPECT_EQ(pod.name, "web-node-1");
  EXPECT_EQ(pod.namespace_name, "default");
  EXPECT_EQ(pod.uid.size(), 36);
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.source"), "file");
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.hash"), pod.uid);
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.mirror"), pod.uid);
  EXPECT_EQ(pod.annotations.at("corehold.dev/config.file"), kPath);
  EXPECT_EQ(pod.labels.at("app"), "web");
  EXPECT_EQ(pod.containers[0].request(kCpu), pod.containers[0].limit(kCpu));
}

TEST(StaticPodFile, KeepsItsUidWhenOnlyTheWritingChanges) {
  const std::string uid = read(kWeb).uid;
  EXPECT_EQ(read(std::string("# a comment\n") + kWeb).uid, uid);
  EXPECT_EQ(read(kWeb, "/pods/other.yaml").uid, uid);
  EXPECT_EQ(read(replaced(kWeb, "apiVersion: v1\nkind: Pod", "kind: Pod\napiVersion: v1")).uid,
            uid);
  EXPECT_EQ(read(R"({"kind": "Pod", "apiVersion": "v1",
                     "spec": {"containers": [{"command": ["sleep", "1000"], "name": "main",
                              "resources": {"limits": {"memory": "1Mi", "cpu": "2"}}}]},
                     "metadata": {"uid": "mine", "name": "web", "labels": {"app": "web"}},
                     "status": {"phase": "Running"}})")
                .uid,
            uid);
}

TEST(StaticPodFile, HasAnotherUidForEverythingElse) {
  const std::string uid = read(kWeb).uid;
  EXPECT_NE(read(kWeb, kPath, "node-2").uid, uid);
  EXPECT_NE(read(replaced(kWeb, "1000", "1001")).uid, uid);
  EXPECT_NE(read(replaced(kWeb, "app: web", "app: www")).uid, uid);
}

TEST(StaticPodFile, NamesTheLineOfAMistake) {
  EXPECT_THAT(mistake(replaced(kWeb, "kind: Pod", "kind: [")), StartsWith("/pods/web.yaml:"));
  EXPECT_EQ(mistake("a: b\n\tc: d\n").substr(0, 17), "/pods/web.yaml:2:");
  EXPECT_THAT(mistake(replaced(kWeb, "\"2\"", "two")),
              StartsWith("/pods/web.yaml:12: spec.contai"));
  EXPECT_THAT(mistake(replaced(kWeb, "name: main", "name: \"\"")),
              StartsWith("/pods/web.yaml:9: "));
  EXPECT_THAT(mistake(replaced(kWeb, "  labels:", "  namespace: A\n  labels:")),
              AllOf(StartsWith("/pods/web.yaml:5: "), HasSubstr("metadata.namespace: ")));
  EXPECT_THAT(mistake(replaced(kWeb, "  name: web", "  generateName: web-")),
              AllOf(StartsWith("/pods/web.yaml:3: "), HasSubstr("metadata.name: Required")));
  EXPECT_THAT(mistake("{\"kind\": \"Pod\",\n  oops}"),
              AllOf(StartsWith("/pods/web.yaml: "), HasSubstr("line 2")));
}

TEST(StaticPodFile, IsOnePod) {
  EXPECT_EQ(mistake(""), "/pods/web.yaml: no pod in the file");
  EXPECT_THAT(mistake(std::string(kWeb) + "---\n" + kWeb),
              AllOf(StartsWith("/pods/web.yaml:14: "),
                    HasSubstr("2 documents in the file; a file is one pod")));
  EXPECT_EQ(mistake("- a\n"), "/pods/web.yaml:1: not an object");
  EXPECT_THAT(mistake("kind: PodList\napiVersion: v1\nitems: []\n"), HasSubstr("PodList"));
  EXPECT_THAT(mistake(replaced(kWeb, "kind: Pod", "kind: Deployment")), HasSubstr("Deployment"));
}

TEST(StaticPodFile, RefusesWhatTheNodeCannotRun) {
  EXPECT_THAT(mistake(replaced(kWeb, "name: web", "name: ../etc")), HasSubstr("metadata.name"));
  EXPECT_THAT(mistake(replaced(kWeb, "    command: [sleep, \"1000\"]\n", "")),
              HasSubstr("command"));
}

TEST(StaticPodFile, HasTheDefaultsOfTheApi) {
  const Pod pod = read(kWeb);
  EXPECT_EQ(pod.restart_policy, "Always");
  EXPECT_EQ(pod.raw->at("spec").at("dnsPolicy").get_string(), "ClusterFirst");
}

TEST(StaticPodFile, WarnsOfAFieldThatNoPodHas) {
  std::vector<std::string> warnings;
  const auto pod = read_static_pod(replaced(kWeb, "spec:", "spec:\n  unheardOf: true"), kPath,
                                   {.node_name = "node-1", .pod_rules = kRules}, warnings);
  EXPECT_TRUE(pod) << pod.error().message;
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("spec.unheardOf")));
}

TEST(StaticPodFile, OnlyStaticPodsAreOutOfTheApisReach) {
  EXPECT_EQ(static_pod_refusal({.pod = {.name = "a", .uid = "u"}, .source = Source::kApi}),
            std::nullopt);
  EXPECT_EQ(static_pod_refusal({.pod = read(kWeb), .source = Source::kStatic}),
            "it is a static pod of this node, from /pods/web.yaml; through the API nothing of it "
            "can be changed or restarted: change or remove its file");
}

}  // namespace
}  // namespace corehold
