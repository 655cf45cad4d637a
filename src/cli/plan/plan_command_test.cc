// SPDX-License-Identifier: Apache-2.0
//
// corehold plan as a shell sees it, against the files of tests/golden/plan. To accept a
// change: COREHOLD_UPDATE_GOLDEN=1 build/debug/src/cli/cli_test, then read the diff.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "cli/testing.h"

namespace corehold {
namespace {

Outcome plan(const std::string& arguments) { return run("plan " + arguments); }

Outcome errors_of(const std::string& arguments) { return plan(arguments + " 2>&1 >/dev/null"); }

void expect_golden(const std::string& name, const std::string& arguments, int code = 0) {
  const Outcome actual = plan(arguments);
  EXPECT_EQ(actual.code, code) << arguments;
  const std::string path = std::string(COREHOLD_SOURCE_DIR) + "/tests/golden/plan/" + name;
  if (std::getenv("COREHOLD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual.text;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(actual.text, expected) << name;
}

const std::string kPods = "-f docs/examples/pods.yaml ";
const std::string kSmall = "--topology 'synthetic:package:1 numa:1 l3:1 core:4 pu:2' ";
const std::string kServer = "--topology 'synthetic:package:2 numa:1 l3:2 core:8 pu:2' ";
const std::string kMedium = "--topology 'synthetic:package:2 numa:1 l3:2 core:4 pu:2' ";
const std::string kLarge = "--topology xml:tests/machines/epyc-2s-nps4.xml ";
const std::string kNode = "--config docs/examples/node.yaml ";
const std::string kDevices =
    "-f docs/examples/near-devices.yaml --config docs/examples/planned-machine.yaml ";

TEST(PlanGolden, Tables) {
  expect_golden("small.txt", kPods + kSmall);
  expect_golden("server.txt", kPods + kServer + kNode);
  expect_golden("large.txt", kPods + kLarge + kNode);
  expect_golden("devices.txt", kDevices + kServer);
}

TEST(PlanGolden, Json) {
  expect_golden("server.json", kPods + kServer + kNode + "-o json");
  expect_golden("devices.json", kDevices + kServer + "-o json --explain upf-1");
}

TEST(PlanGolden, Svg) {
  expect_golden("small.svg", kPods + kSmall + "-o svg");
  expect_golden("medium.svg", kPods + kMedium + kNode + "-o svg");
  expect_golden("large.svg", kPods + kLarge + kNode + "-o svg");
}

// The worked example of KEP-5554 in docs/resize.md, and what is refused beside it.
const std::string kResized =
    "-f docs/examples/resize-pods.yaml --config docs/examples/resize-node.yaml --topology "
    "'synthetic:package:1 numa:2 core:3 pu:2' ";

TEST(PlanGolden, Resizes) {
  expect_golden("resize.txt", kResized + "--resize web=4");
  expect_golden("resize-refused.txt", kResized + "--resize demo/web/main=6 --resize batch=1", 1);
  expect_golden("resize-refused.json", kResized + "--resize web=8 --resize batch=3 -o json", 1);
  expect_golden("resize.json", kResized + "--resize web=4 -o json");
  expect_golden("resize.svg", kResized + "--resize web=4 -o svg");
  expect_golden("resize-refused.svg", kResized + "--resize web=6 -o svg", 1);
}

TEST(PlanCommand, TakesTheGateOfAResizeForOnUnlessTheFileSaysNo) {
  const std::string file = testing::TempDir() + "corehold-plan-gate.yaml";
  const std::string start =
      "apiVersion: kubelet.config.k8s.io/v1beta1\n"
      "kind: KubeletConfiguration\n"
      "cpuManagerPolicy: static\n"
      "reservedSystemCPUs: \"11\"\n";
  const std::string line =
      "-f docs/examples/resize-pods.yaml --resize web=4 --topology "
      "'synthetic:package:1 numa:2 core:3 pu:2' ";
  const Outcome without = plan(line);
  EXPECT_EQ(without.code, 0) << without.text;
  std::ofstream(file) << start;
  const Outcome silent = plan(line + "--config " + file);
  EXPECT_EQ(silent.code, 0) << silent.text;
  EXPECT_NE(silent.text.find("feature gate InPlacePodVerticalScalingExclusiveCPUs is assumed on"),
            std::string::npos)
      << silent.text;
  std::ofstream(file) << start << "featureGates: {InPlacePodVerticalScalingExclusiveCPUs: false}\n";
  const Outcome off = plan(line + "--config " + file);
  EXPECT_EQ(off.code, 1) << off.text;
  EXPECT_NE(off.text.find("InPlacePodVerticalScalingExclusiveCPUs is off"), std::string::npos)
      << off.text;
  std::remove(file.c_str());
}

TEST(PlanGolden, Explanations) {
  expect_golden("explain-init.txt", kPods + kServer + kNode + "--explain db/pg-0");
  expect_golden("explain-refused.txt", kPods + kServer + kNode + "--explain olap-1");
  expect_golden("explain-devices.txt", kDevices + kServer + "--explain upf-1");
}

TEST(PlanCommand, ReadsStandardInputAndSeveralFiles) {
  const Outcome outcome =
      plan("-f - -f docs/examples/near-devices.yaml " + kLarge + "< docs/examples/pods.yaml");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("telco/upf-0 "), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("telco/upf-1"), std::string::npos) << outcome.text;
}

TEST(PlanCommand, SaysThatASyntheticMachineHasMadeUpMemory) {
  const std::string file = testing::TempDir() + "corehold-plan-memory.yaml";
  std::ofstream(file) << "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                         "kind: KubeletConfiguration\n"
                         "cpuManagerPolicy: static\n"
                         "reservedSystemCPUs: \"0-1\"\n"
                         "memoryManagerPolicy: Static\n"
                         "reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n"
                         "evictionHard: {memory.available: 100Mi}\n";
  const std::string note = "note       a synthetic machine has 1Gi of memory in each NUMA node; ";
  const Outcome made_up = plan(kPods + kServer + "--config " + file);
  EXPECT_NE(made_up.text.find(note), std::string::npos) << made_up.text;
  const Outcome given =
      plan(kPods + "--topology 'synthetic:numa:2(memory=64GB) core:4 pu:2' --config " + file);
  EXPECT_EQ(given.code, 0);
  EXPECT_EQ(given.text.find(note), std::string::npos) << given.text;
  std::remove(file.c_str());
}

TEST(PlanCommand, TellsEveryMistakeOfTheConfigurationAtItsLine) {
  const std::string file = testing::TempDir() + "corehold-plan-bad.yaml";
  std::ofstream(file) << "apiVersion: kubelet.config.k8s.io/v1beta1\n"
                         "kind: KubeletConfiguration\n"
                         "cpuManagerPolicy: dynamic\n"
                         "topologyManagerPolicy: best\n";
  const Outcome outcome = errors_of(kPods + kServer + "--config " + file);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find(file + ":3: cpuManagerPolicy: "), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(file + ":4: topologyManagerPolicy: "), std::string::npos)
      << outcome.text;
  std::remove(file.c_str());
}

TEST(PlanCommand, ChecksTheConfigurationAgainstTheMachine) {
  const Outcome outcome = errors_of(kPods + kNode + "--topology 'synthetic:package:1 core:1 pu:1'");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("docs/examples/node.yaml:10: reservedSystemCPUs: "),
            std::string::npos)
      << outcome.text;
}

TEST(PlanCommand, BadUsageIsTwoAndBadInputOne) {
  struct Case {
    std::string arguments;
    int code;
    std::string message;
  };
  const Case cases[] = {
      {"", 2, "--file is required"},
      {kPods + "--topology nope", 2,
       "--topology: \"nope\" is not a topology source: use host, xml:FILE or "
       "synthetic:DESCRIPTION"},
      {kPods + "-o svg --explain pg-0", 2, "--explain answers in words: -o table or -o json"},
      {kPods + "--resize upf-0=4 --explain pg-0", 2,
       "--explain tells how pods come in; it does not go with --resize"},
      {kPods + "--explain ''", 2, "--explain: must not be empty"},
      {kPods + "--config ''", 2, "--config: must not be empty"},
      {kPods + "--node ''", 2, "--node: must not be empty"},
      {"-f - -f -", 2, "-f - may be given only once"},
      {kPods + kServer + "--resize nobody=4", 2,
       "--resize nobody=4: no such container in the plan; there are telco/upf-0/fast-path, "},
      {kPods + kServer + "--resize upf-0", 2, "--resize \"upf-0\": must be POD/CONTAINER=N"},
      {kPods + kServer + "--resize pg-0=4", 2,
       "--resize pg-0=4: pod db/pg-0 has the containers exporter, postgres; name one"},
      {"-f nowhere.yaml", 1, "open nowhere.yaml: ENOENT"},
      {"-f docs/examples/node.yaml", 1,
       "docs/examples/node.yaml: document 1: kind: \"KubeletConfiguration\" is not a Pod"},
      {kPods + kServer + "--config nowhere.yaml", 1, "open nowhere.yaml: ENOENT"},
      {kPods + kServer + "--node n1", 1, "no pod is bound to node \"n1\""},
      {kPods + kServer + "--explain nobody", 1, "--explain nobody: no such pod in the plan; "},
      {kPods + "-f docs/examples/pods.yaml", 1,
       "pod telco/upf-0 is there twice: as pod 1 of docs/examples/pods.yaml and as pod 1 of "
       "docs/examples/pods.yaml"},
  };
  for (const Case& one : cases) {
    const Outcome outcome = errors_of(one.arguments);
    EXPECT_EQ(outcome.code, one.code) << one.arguments;
    EXPECT_EQ(outcome.text.find("corehold: " + one.message), 0U) << outcome.text;
  }
}

}  // namespace
}  // namespace corehold
