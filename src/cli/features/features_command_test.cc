// SPDX-License-Identifier: Apache-2.0
//
// corehold features as a shell sees it, run in the root of the repository.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

const std::string kMatch =
    "match --pods docs/examples/cluster-pods.json --nodes docs/examples/cluster-nodes.json ";

Outcome features(const std::string& arguments, const std::string& input = "") {
  return run("features " + arguments + " 2>&1", input);
}

std::string golden(const std::string& name) {
  const auto text =
      read_file(COREHOLD_SOURCE_DIR "/tests/golden/features/" + name, std::size_t{1} << 20U);
  EXPECT_TRUE(text) << name;
  return text ? *text : "";
}

TEST(FeaturesCommand, PrintsWhatTheGoldenFilesSay) {
  const std::map<std::string, std::string> answers = {
      {"match.txt", kMatch},
      {"match.json", kMatch + "-o json"},
      {"upgrade.txt", kMatch + "--set worker-1=RestartAllContainersOnContainerExits/1.37.0 --set "
                               "worker-2=/1.34.6"},
      {"upgrade.json", kMatch + "--set '*=VolumeBindMountOptions' -o json"},
      {"pod.txt", kMatch + "--pod security/vault-0"},
      {"pod-upgrade.txt", kMatch + "--pod testpod1 --set '*=VolumeBindMountOptions/1.36.4' --set "
                                   "worker-2=NodeDeclaredFeatures=false"},
      {"discover.txt", "discover --config docs/examples/kubelet.yaml --node-version v1.37.0"},
      {"discover.json",
       "discover --config docs/examples/node.yaml --node-version 1.36.2 --runtime MountOptions -o "
       "json"},
      {"infer.txt", "infer -f docs/examples/cluster-pods.json"},
      {"requirements.txt", "requirements VolumeBindMountOptions"},
  };
  for (const auto& [file, arguments] : answers) {
    const Outcome outcome = features(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments;
    EXPECT_EQ(outcome.text, golden(file)) << arguments;
  }
}

TEST(FeaturesInfer, SaysWhatAnUpdateNeeds) {
  const std::string pod =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]}})";
  const Outcome outcome = run("features infer -f $d/new.json --old $d/old.json; rm -r $d",
                              "d=$(mktemp -d); printf '" + pod + "' 2 > $d/old.json; printf '" +
                                  pod + "' 4 > $d/new.json;");
  EXPECT_EQ(outcome.text, "POD        NEEDS\ndefault/p  InPlacePodVerticalScalingExclusiveCPUs\n");
}

TEST(FeaturesInfer, TakesOnePodOfEachFileWithOld) {
  const Outcome outcome =
      features("infer -f docs/examples/cluster-pods.json --old docs/examples/cluster-pods.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text,
            "corehold: docs/examples/cluster-pods.json: holds 3 pods; with --old each file holds "
            "one\n");
}

TEST(FeaturesInfer, RefusesTwoDifferentPodsAsAnUpdate) {
  const std::string pod = R"({"metadata":{"name":"%s"},"spec":{"containers":[{"name":"c"}]}})";
  const Outcome outcome = run(
      "features infer -f $d/b.json --old $d/a.json 2>&1; rm -r $d",
      "d=$(mktemp -d); printf '" + pod + "' a > $d/a.json; printf '" + pod + "' b > $d/b.json;");
  EXPECT_THAT(outcome.text, testing::StartsWith("corehold: not the same pod: default/a in /"));
  EXPECT_THAT(outcome.text, HasSubstr("/a.json, default/b in /"));
}

TEST(FeaturesInfer, AnswersForPodsThatHaveEnded) {
  const Outcome outcome =
      features("infer -f -", "sed 's/\"Running\"/\"Failed\"/' docs/examples/cluster-pods.json |");
  EXPECT_EQ(outcome.text, golden("infer.txt"));
}

TEST(FeaturesMatch, ReadsStandardInput) {
  const Outcome outcome = features("match --pods docs/examples/cluster-pods.json --nodes -",
                                   "cat docs/examples/cluster-nodes.json |");
  EXPECT_EQ(outcome.text, golden("match.txt"));
}

TEST(FeaturesMatch, ReadsNodesInYamlAndSaysWhoseVersionIsUnknown) {
  const Outcome outcome =
      features("match --pods docs/examples/cluster-pods.json --nodes - --pod security/vault-0",
               "printf 'kind: Node\nmetadata: {name: \"a\\\\e[2J\"}\n' |");
  EXPECT_THAT(outcome.text, HasSubstr("\na\\x1b[2J  no    RestartAll"));
  EXPECT_THAT(outcome.text,
              HasSubstr("\nversion unknown (status.nodeInfo.kubeletVersion): a\\x1b[2J; "));
  EXPECT_THAT(outcome.text, testing::Not(HasSubstr("\x1b")));
}

TEST(FeaturesMatch, TakesListsWithNothingInThem) {
  const Outcome no_pods = features("match --pods - --nodes docs/examples/cluster-nodes.json",
                                   "echo '{\"kind\":\"List\",\"items\":[]}' |");
  EXPECT_EQ(no_pods.code, 0);
  EXPECT_EQ(no_pods.text, "no pods\n");
  EXPECT_EQ(features("infer -f -", "echo '{\"kind\":\"List\",\"items\":[]}' |").text, "no pods\n");
  const Outcome no_nodes = features("match --pods docs/examples/cluster-pods.json --nodes -",
                                    "echo '{\"kind\":\"List\",\"items\":[]}' |");
  EXPECT_EQ(no_nodes.code, 0);
  EXPECT_THAT(no_nodes.text, HasSubstr("\n1 pod needs no feature\nno nodes\n"));
}

TEST(FeaturesMatch, NamesThePodsThatItLeavesOut) {
  const Outcome outcome =
      features("match --pods - --nodes docs/examples/cluster-nodes.json",
               "sed 's/\"Running\"/\"Failed\"/' docs/examples/cluster-pods.json |");
  EXPECT_THAT(outcome.text,
              testing::EndsWith("\n2 pods left out, ended: default/testpod1, web/web-1\n"));
}

TEST(FeaturesMatch, SaysWhatIsWrong) {
  const auto told = [](const std::string& arguments, int code) {
    const Outcome outcome = features(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    return outcome.text;
  };
  EXPECT_EQ(told(kMatch + "--set worker-9=/1.37.0", 1),
            "corehold: there is no node \"worker-9\" in the list\n");
  EXPECT_EQ(
      told(kMatch + "--set worker-1", 2),
      "corehold: --set \"worker-1\": no = after the node; it looks like "
      "worker-1=MyGate,OtherGate=false/1.37.0\ncorehold: see corehold features match --help\n");
  EXPECT_EQ(told(kMatch + "--target-version new", 2),
            "corehold: \"new\" is no version; write it as 1.37.0 or v1.37.0-rc.1\n"
            "corehold: see corehold features match --help\n");
  EXPECT_EQ(
      told(kMatch + "--set worker-1=RestartAllContainerOnContainerExits", 2),
      "corehold: --set \"worker-1=RestartAllContainerOnContainerExits\": no feature needs gate "
      "RestartAllContainerOnContainerExits; did you mean "
      "RestartAllContainersOnContainerExits?\ncorehold: see corehold features match --help\n");
  EXPECT_EQ(told(kMatch + "--pod vault-0", 1),
            "corehold: there is no pod \"default/vault-0\" in the list\n");
  EXPECT_EQ(told("match --pods nix.json --nodes docs/examples/cluster-nodes.json", 1),
            "corehold: nix.json: no such file\n");
  EXPECT_EQ(told("match --pods docs/examples/cluster-nodes.json --nodes "
                 "docs/examples/cluster-pods.json",
                 1),
            "corehold: docs/examples/cluster-nodes.json: items[0].kind: \"Node\" is not a Pod (are "
            "--pods and --nodes swapped?)\n");
  EXPECT_EQ(
      told("match --pods docs/examples/cluster-pods.json --nodes docs/examples/cluster-pods.json",
           1),
      "corehold: docs/examples/cluster-pods.json: items[0].kind: \"Pod\" is not a Node (are --pods "
      "and --nodes swapped?)\n");
  EXPECT_EQ(told("match --pods - --nodes -", 2),
            "corehold: only one of --pods and --nodes may be -\n"
            "corehold: see corehold features match --help\n");
}

TEST(FeaturesDiscover, TellsMistakesOfTheConfigurationWithTheirLines) {
  const Outcome outcome =
      features("discover --config tests/golden/config/twelve-mistakes.yaml --node-version 1.37.0");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, testing::StartsWith("tests/golden/config/twelve-mistakes.yaml:5: "));
}

// The line of a feature for a kubelet with these gates.
std::string discovered(const std::string& feature, const std::string& gates,
                       const std::string& version) {
  return run("features discover --config $f --node-version " + version + " | grep '^" + feature +
                 " ' | tr -s ' '; rm $f",
             "f=$(mktemp); printf 'apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: "
             "KubeletConfiguration\\nfeatureGates: {" +
                 gates + "}\\n' > $f;")
      .text;
}

TEST(FeaturesDiscover, DeclaresNothingWithTheGateOfTheMechanismOff) {
  EXPECT_EQ(discovered("ExtendWebSocketsToKubelet", "NodeDeclaredFeatures: false", "1.37.0"),
            "ExtendWebSocketsToKubelet no gate NodeDeclaredFeatures is off\n");
}

TEST(FeaturesDiscover, KnowsWhichVersionsDeclare) {
  const std::string feature = "RestartAllContainersOnContainerExits";
  const std::string is_on = feature + ": true";
  EXPECT_EQ(discovered(feature, is_on, "1.34.0"),
            feature + " no version 1.34.0 is before 1.35, the first that declares features\n");
  EXPECT_EQ(discovered(feature, is_on, "1.35.0"),
            feature + " no gate NodeDeclaredFeatures is off by default in 1.35\n");
  EXPECT_EQ(discovered(feature, is_on + ", NodeDeclaredFeatures: true", "1.35.0"),
            feature + " yes -\n");
  EXPECT_EQ(discovered(feature, is_on, "1.36.0"), feature + " yes -\n");
}

TEST(FeaturesDiscover, IsNotForCoreholdNodes) {
  const Outcome outcome =
      features("discover --config docs/examples/kubelet.yaml --node-version corehold-v0.1.0");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.text,
            "corehold: \"corehold-v0.1.0\" is the version of a Corehold node; this answers for a "
            "kubelet, corehold describe node for the node\n"
            "corehold: see corehold features discover --help\n");
}

TEST(FeaturesRequirements, NamesGatesConfigurationAndRuntime) {
  EXPECT_EQ(features("requirements InPlacePodVerticalScalingExclusiveCPUs").text,
            "feature        InPlacePodVerticalScalingExclusiveCPUs\n"
            "gates          InPlacePodVerticalScalingExclusiveCPUs\n"
            "configuration  cpuManagerPolicy: static\n"
            "runtime        -\n"
            "last version   -\n");
  EXPECT_EQ(
      features("requirements VolumeBindMountOptions -o json").text,
      "{\n  \"gates\": [\"VolumeBindMountOptions\"],\n  \"staticConfig\": {},\n"
      "  \"runtimeFeatures\": [\"MountOptions\"],\n  \"feature\": \"VolumeBindMountOptions\"\n}\n");
  const Outcome unknown = features("requirements NoSuch");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.text, HasSubstr("corehold: feature 'NoSuch' not registered; there are "
                                      "DRANodeAllocatableResources, "));
}

TEST(FeaturesCommand, ShowsExamplesInItsHelp) {
  for (const std::string part : {"discover", "infer", "match", "requirements"}) {
    EXPECT_THAT(features(part + " --help").text,
                HasSubstr("Examples:\n  corehold features " + part));
  }
}

}  // namespace
}  // namespace corehold
