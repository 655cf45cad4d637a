// SPDX-License-Identifier: Apache-2.0
//
// corehold config as a shell sees it, run in the root of the repository.
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/testing.h"
#include "config/reference.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20U;

// `[INPUT |] corehold config ARGUMENTS`.
Outcome config(const std::string& arguments, const std::string& input = "") {
  return run("config " + arguments, input);
}

std::string content(const std::string& path) {
  const auto text = read_file(std::string(COREHOLD_SOURCE_DIR) + "/" + path, kMaxSize);
  EXPECT_TRUE(text) << path;
  return text ? *text : "";
}

TEST(ConfigCheck, TellsTwelveMistakesWithTheirLines) {
  const std::string arguments = "check tests/golden/config/twelve-mistakes.yaml";
  const Outcome errors = config(arguments + " 2>&1 >/dev/null");
  EXPECT_EQ(errors.code, 1);
  EXPECT_EQ(errors.text, content("tests/golden/config/twelve-mistakes.txt"));
  EXPECT_EQ(config(arguments + " 2>/dev/null").text, "");
}

TEST(ConfigCheck, AnswersWithTheSettings) {
  const Outcome table = config("check docs/examples/node.yaml 2>&1");
  EXPECT_EQ(table.code, 0);
  EXPECT_EQ(table.text, content("tests/golden/config/node.txt"));
  const Outcome json = config("check -o json docs/examples/planned-machine.yaml 2>&1");
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json.text, content("tests/golden/config/planned-machine.json"));
}

TEST(ConfigCheck, NamesWhatHasNoEffect) {
  const Outcome table = config("check docs/examples/kubelet.yaml");
  EXPECT_NE(
      table.text.find("\ndocs/examples/kubelet.yaml:7: maxPods: kubelet field without effect here"),
      std::string::npos)
      << table.text;
}

TEST(ConfigCheck, ListsTheGatesOfFeaturesAndSaysWhichAreNotHere) {
  const Outcome table =
      config("check - 2>&1",
             "printf 'apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: KubeletConfiguration\\n"
             "featureGates:\\n  RestartAllContainersOnContainerExits: true\\n"
             "  ExtendWebSocketsToKubelet: true\\n  NodeSwap: true\\n' |");
  EXPECT_NE(table.text.find("\ngates      RestartAllContainersOnContainerExits=true, "
                            "ExtendWebSocketsToKubelet=true\n"),
            std::string::npos)
      << table.text;
  EXPECT_NE(table.text.find("\nstandard input:5: featureGates.ExtendWebSocketsToKubelet: this node "
                            "does not have it, it is not declared\n"),
            std::string::npos)
      << table.text;
}

TEST(ConfigCheck, AnswersWithMistakesAsJson) {
  const Outcome json = config("check -o json tests/golden/config/twelve-mistakes.yaml 2>/dev/null");
  EXPECT_EQ(json.code, 1);
  boost::json::error_code ec;
  const boost::json::value value = boost::json::parse(json.text, ec);
  ASSERT_FALSE(ec) << json.text;
  const boost::json::object& object = value.as_object();
  EXPECT_FALSE(object.at("valid").as_bool());
  ASSERT_EQ(object.at("mistakes").as_array().size(), 12U);
  EXPECT_EQ(object.at("mistakes").at(0).at("line").as_int64(), 5);
  EXPECT_FALSE(object.contains("settings"));
}

TEST(ConfigCheck, ReadsStandardInput) {
  const Outcome good = config("check -", "cat docs/examples/node.yaml |");
  EXPECT_EQ(good.code, 0) << good.text;
  const Outcome bad = config("check - 2>&1", "echo 'kind: Pod' |");
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.text,
            "standard input:1: kind: \"Pod\" is not known; there are KubeletConfiguration, "
            "CoreholdConfiguration\ncorehold: standard input: 1 mistake\n");
  const Outcome endless = config("check - 2>&1", "yes |");
  EXPECT_EQ(endless.code, 1);
  EXPECT_NE(endless.text.find("are more than the limit of 1048576"), std::string::npos);
}

TEST(ConfigCheck, SaysWhatCannotBeRead) {
  const Outcome missing = config("check /nonexistent/file.yaml 2>&1");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.text, "corehold: open /nonexistent/file.yaml: ENOENT\n");
  EXPECT_EQ(config("check docs 2>&1").code, 1);
  EXPECT_EQ(config("check 2>&1").code, 2);
}

TEST(ConfigCheck, EscapesWhatATerminalWouldInterpret) {
  const Outcome outcome =
      config("check - 2>&1", R"(printf 'kind: "\\e[31m"\n"\\e": 1\n"\\e": 2\n' |)");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text.find('\x1b'), std::string::npos);
  const Outcome note =
      config("check -", R"(printf 'kind: KubeletConfiguration\n)"
                        R"(apiVersion: kubelet.config.k8s.io/v1beta1\n"\\e[1m": 1\n' |)");
  EXPECT_EQ(note.code, 0);
  EXPECT_EQ(note.text.find('\x1b'), std::string::npos);
  EXPECT_NE(note.text.find("\\x1b[1m"), std::string::npos) << note.text;
}

TEST(ConfigCheck, ComparesWithAMachine) {
  const std::string file = " docs/examples/planned-machine.yaml 2>&1";
  EXPECT_EQ(config("check --topology 'synthetic:package:2 numa:1 core:16 pu:2'" + file).code, 0);
  const Outcome small = config("check --topology 'synthetic:package:1 numa:1 core:4 pu:2'" + file);
  EXPECT_EQ(small.code, 1);
  EXPECT_EQ(small.text,
            "docs/examples/planned-machine.yaml:5: reservedSystemCPUs: reserved-cpus: 0,32 is not "
            "a subset of online-cpus: 0-7; the machine does not have 32\n"
            "docs/examples/planned-machine.yaml:13: reservedMemory[1].numaNode: the machine does "
            "not have NUMA "
            "node 1, it has 0\n"
            "docs/examples/planned-machine.yaml:23: memory[1].numaNode: the machine does not have "
            "NUMA node 1, "
            "it has 0\n"
            "docs/examples/planned-machine.yaml:28: devices[0].devices[1].numaNodes: device nic-1 "
            "of example.com/nic: the "
            "machine does not have NUMA node 1, it has 0\n"
            "corehold: docs/examples/planned-machine.yaml: 4 mistakes\n");
  const Outcome usage = config("check --topology moon" + file);
  EXPECT_EQ(usage.code, 2);
  EXPECT_NE(usage.text.find("see corehold config check --help"), std::string::npos);
}

// 1Gi is reserved on NUMA node 0, as line 6 says.
constexpr const char* kReservesMemory =
    R"(printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n)"
    R"(memoryManagerPolicy: Static\nreservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}\n)"
    R"(evictionHard: {memory.available: 1Gi}\n' |)";

TEST(ConfigCheck, ComparesReservedMemoryWithTheMachine) {
  const Outcome outcome =
      config("check --topology xml:tests/machines/hbm.xml - 2>&1", kReservesMemory);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text,
            "standard input:6: reservedMemory[0].limits.memory: cannot reserve 1Gi of memory on "
            "NUMA node 0, which has 0\ncorehold: standard input: 1 mistake\n");
}

TEST(ConfigCheck, ShowsListsThatAreSet) {
  const Outcome table = config("check docs/examples/planned-machine.yaml 2>&1");
  EXPECT_EQ(table.code, 0);
  EXPECT_EQ(table.text, content("tests/golden/config/planned-machine.txt"));
}

TEST(ConfigReference, HasItsOwnHelp) {
  const Outcome help = config("reference --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.text.find("corehold config reference > config.md"), std::string::npos)
      << help.text;
  EXPECT_EQ(help.text.find("config check"), std::string::npos) << help.text;
  EXPECT_NE(config("check --help").text.find("- is standard"), std::string::npos);
}

// To renew it: corehold config reference > docs/config.md
TEST(ConfigReference, IsThePageInTheDocuments) {
  EXPECT_EQ(content("docs/config.md"), reference_page());
  EXPECT_EQ(config("reference").text, reference_page());
}

}  // namespace
}  // namespace corehold
