// SPDX-License-Identifier: Apache-2.0
//
// corehold features as a shell sees it, run in the root of the repository.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing.h"
#include "sys/file.h"

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
      {"discover.txt", "discover --config docs/examples/kubelet.yaml --node-version v1.37.0"},
      {"discover.json",
       "discover --config docs/examples/node.yaml --node-version 1.36.2 --runtime MountOptions -o "
       "json"},
      {"infer.txt", "infer -f docs/examples/cluster-pods.json"},
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
  EXPECT_EQ(outcome.text, "corehold: with --old each file holds one pod; there are 3 and 3\n");
}

TEST(FeaturesMatch, ReadsStandardInput) {
  const Outcome outcome = features("match --pods docs/examples/cluster-pods.json --nodes -",
                                   "cat docs/examples/cluster-nodes.json |");
  EXPECT_EQ(outcome.text, golden("match.txt"));
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
      "corehold: --set \"worker-1\": no node before =; it looks like "
      "worker-1=MyGate,OtherGate=false/1.37.0\ncorehold: see corehold features match --help\n");
  EXPECT_EQ(told(kMatch + "--target-version new", 2),
            "corehold: version \"new\": 1 numbers, must be 2 or 3; it looks like 1.37.0 or "
            "v1.37.0-rc.1\ncorehold: see corehold features match --help\n");
  EXPECT_EQ(
      told("match --pods docs/examples/cluster-pods.json --nodes docs/examples/cluster-pods.json",
           1),
      "corehold: docs/examples/cluster-pods.json: items[0].kind: \"Pod\" is not a Node\n");
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

TEST(FeaturesDiscover, DeclaresNothingWithTheGateOfTheMechanismOff) {
  const Outcome outcome =
      run("features discover --config $f --node-version 1.37.0 | sed -n 5p; rm $f",
          "f=$(mktemp); printf 'apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: "
          "KubeletConfiguration\\nfeatureGates: {NodeDeclaredFeatures: false}\\n' > $f;");
  EXPECT_EQ(outcome.text,
            "ExtendWebSocketsToKubelet                     no        gate NodeDeclaredFeatures is "
            "off\n");
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
