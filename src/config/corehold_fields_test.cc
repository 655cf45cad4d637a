// SPDX-License-Identifier: Apache-2.0
//
// CoreholdConfiguration: what is read and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/field.h"
#include "config/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CoreholdFields, ReadTheLevelOfIsolation) {
  const auto none = read_config(corehold_document(""));
  EXPECT_EQ(none.config.isolation, IsolationConfig{});
  const auto given = read_config(corehold_document("isolation: {level: irqs, minSystemCPUs: 2}\n"));
  EXPECT_EQ(given.config.isolation,
            (IsolationConfig{.level = IsolationLevel::kIrqs, .min_system_cpus = 2}));
  EXPECT_EQ(mistakes_in(corehold_document("isolation: {level: most, minSystemCPUs: 0}\n")).size(),
            2U);
}

TEST(CoreholdConfiguration, SetsEverything) {
  const CheckedConfig checked = read_config(corehold_document(R"(
runtime: {kind: nri, endpoint: "unix:///run/containerd/containerd.sock", nriSocket: /run/nri.sock}
listen: {address: "[::1]:8443", socketGroup: staff}
paths: {root: /srv/corehold, podinfo: /srv/podinfo, podResourcesSocket: /run/pr.sock}
podinfo: {annotations: false}
minSharedCPUs: 2
checkpointFormat: kubelet
memoryPinning: true
devices:
- resource: example.com/nic
  devices:
  - {id: nic-0, numaNodes: [0, 1]}
  - {id: nic-1}
- resource: example.com/none
memory:
- {numaNode: 0, memory: 64Gi, hugepages-1Gi: 4Gi}
- {numaNode: 3, hugepages-2Mi: 2Mi}
)"));
  EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
  const Config& config = checked.config;
  EXPECT_EQ(config.runtime, (RuntimeConfig{.kind = RuntimeKind::kNri,
                                           .endpoint = "unix:///run/containerd/containerd.sock",
                                           .nri_socket = "/run/nri.sock"}));
  EXPECT_EQ(config.listen, (ListenConfig{.address = "[::1]:8443", .socket_group = "staff"}));
  EXPECT_EQ(config.paths, (PathsConfig{.root = "/srv/corehold",
                                       .podinfo = "/srv/podinfo",
                                       .pod_resources_socket = "/run/pr.sock"}));
  EXPECT_FALSE(config.podinfo.annotations);
  EXPECT_EQ(config.static_options.min_shared_cpus, 2);
  EXPECT_EQ(config.checkpoint_format, CheckpointStyle::kKubelet);
  EXPECT_TRUE(config.memory_pinning);
  EXPECT_EQ(config.devices,
            (DeviceInventory{{"example.com/nic",
                              {{.id = "nic-0", .nodes = {NodeId(0), NodeId(1)}}, {.id = "nic-1"}}},
                             {"example.com/none", {}}}));
  EXPECT_EQ(config.memory,
            (MemoryInventory{{NodeId(0), {{"memory", 64LL << 30}, {"hugepages-1Gi", 4LL << 30}}},
                             {NodeId(3), {{"hugepages-2Mi", 2LL << 20}}}}));
}

TEST(CoreholdConfiguration, AnUnknownFieldIsAMistakeThatNamesTheRightOne) {
  EXPECT_THAT(
      mistakes_in(corehold_document("minSharedCpus: 2\nzone: x\nlisten:\n  adress: \"\"\n"
                                    "memory: [{numaNode: 0, hugepages-1G1: 1Gi}]\n")),
      ElementsAre("3: minSharedCpus: is not a known field; did you mean minSharedCPUs?",
                  "4: zone: is not a known field; there are apiVersion, kind, runtime, listen, "
                  "paths, podinfo, isolation, minSharedCPUs, checkpointFormat, memoryPinning, "
                  "devices, memory",
                  "6: listen.adress: is not a known field; did you mean address?",
                  "7: memory[0].hugepages-1G1: is not a known field; did you mean "
                  "hugepages-1Gi?"));
}

TEST(CoreholdConfiguration, ChecksValues) {
  EXPECT_THAT(
      mistakes_in(corehold_document(
          "runtime:\n  kind: docker\n  endpoint: tcp://host\nlisten: {address: \"*:80\"}\n"
          "paths: {root: state, podinfo: \"/a\\0b\"}\nminSharedCPUs: 0\ncheckpointFormat: v3\n"
          "memoryPinning: \"no\"\n")),
      ElementsAre("4: runtime.kind: \"docker\" is not known; there are process, cri, nri",
                  "5: runtime.endpoint: \"tcp://host\" is not a socket; write it as in "
                  "unix:///run/containerd/containerd.sock",
                  "6: listen.address: \"*:80\" is not an IP address and port; write it as in "
                  "\"127.0.0.1:10270\" or \"[::1]:10270\", or \"\" for none",
                  "7: paths.root: \"state\" is not an absolute path; begin it with /",
                  "7: paths.podinfo: contains a control character",
                  "8: minSharedCPUs: must be a whole number from 1 to 4096",
                  "9: checkpointFormat: \"v3\" is not known; there are corehold, kubelet",
                  "10: memoryPinning: must be true or false, without quotes"));
}

TEST(CoreholdConfiguration, ListensOnAddressesOnly) {
  const auto is_right = [](const char* address) {
    return mistakes_in(corehold_document(fmt::format("listen: {{address: \"{}\"}}", address)))
        .empty();
  };
  for (const char* right : {"", "127.0.0.1:0", "0.0.0.0:1", "[::]:65535", "127.0.0.1:10270"}) {
    EXPECT_TRUE(is_right(right)) << right;
  }
  for (const char* wrong : {"127.0.0.1", ":80", "::1:80", "[127.0.0.1]:80", "127.0.0.1:-1",
                            "127.0.0.1:65536", "127.0.0.1:8o", "[::1]", "127.0.0.1:", "[]:1"}) {
    EXPECT_FALSE(is_right(wrong)) << wrong;
  }
}

TEST(CoreholdConfiguration, ChecksDevices) {
  EXPECT_THAT(
      mistakes_in(corehold_document("devices:\n"
                                    "- devices: []\n"
                                    "- resource: nic\n"
                                    "- resource: example.com/a\n  devices:\n  - {numaNodes: [0]}\n"
                                    "  - {id: x, numaNodes: [0, 64, z]}\n  - {id: w}\n  - {id: w}\n"
                                    "- resource: example.com/a\n")),
      ElementsAre(
          "4: devices[0]: resource is missing",
          "5: devices[1].resource: \"nic\" is not the name of an extended resource; write a "
          "domain and a name, as in example.com/nic",
          "8: devices[2].devices[0]: id is missing",
          "9: devices[2].devices[1].numaNodes[1]: must be a whole number from 0 to 63",
          "9: devices[2].devices[1].numaNodes[2]: must be a whole number from 0 to 63",
          "11: devices[2].devices[3]: device \"w\" is there already; each needs an id of "
          "its own",
          "12: devices[3]: devices of example.com/a are listed already; put them in one "
          "list"));
}

TEST(CoreholdConfiguration, ChecksMemory) {
  EXPECT_THAT(
      mistakes_in(corehold_document("memory:\n- {memory: 1Gi}\n- {numaNode: 0, memory: x}\n"
                                    "- {numaNode: 1}\n- {numaNode: 1}\n")),
      ElementsAre("4: memory[0]: numaNode is missing",
                  "5: memory[1].memory: \"x\": quantities must match the regular expression "
                  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; write it as in 64Gi",
                  "7: memory[3]: NUMA node 1 is listed already"));
}

// What the reference page calls a default is what holds without the field.
TEST(FieldTable, DefaultsReadBackAsDefaults) {
  for (const FieldLine& line : corehold_field_lines()) {
    const bool is_top = line.path.find_first_of(".[") == std::string::npos;
    const bool is_words = line.default_text.empty() ||
                          line.default_text.find(' ') != std::string::npos ||
                          line.default_text == "required" || line.default_text == "none";
    if (!is_top || is_words) continue;
    const std::string with =
        corehold_document(fmt::format("{}: {}\n", line.path, line.default_text));
    EXPECT_THAT(mistakes_in(with), IsEmpty()) << line.path;
  }
  for (const FieldLine& line : kubelet_field_lines()) {
    EXPECT_FALSE(line.meaning.empty()) << line.path;
    EXPECT_FALSE(line.default_text.empty()) << line.path;
  }
}

// And the words it lists are those that are read.
TEST(FieldTable, EveryWordOfAChoiceIsRead) {
  int words = 0;
  const auto check = [&words](const FieldLine& line, const auto& document) {
    if (!line.type.starts_with('`')) return;
    std::string_view rest = line.type;
    while (rest.find('`') != std::string_view::npos) {
      rest.remove_prefix(rest.find('`') + 1);
      const std::string_view word = rest.substr(0, rest.find('`'));
      rest.remove_prefix(word.size() + 1);
      const std::size_t dot = line.path.find('.');
      const std::string text = dot == std::string::npos
                                   ? fmt::format("{}: {}\n", line.path, word)
                                   : fmt::format("{}: {{{}: {}}}\n", line.path.substr(0, dot),
                                                 line.path.substr(dot + 1), word);
      for (const std::string& mistake : mistakes_in(document(text))) {
        EXPECT_EQ(mistake.find("there are"), std::string::npos) << mistake;
      }
      ++words;
    }
  };
  for (const FieldLine& line : corehold_field_lines()) check(line, corehold_document);
  for (const FieldLine& line : kubelet_field_lines()) check(line, kubelet);
  EXPECT_EQ(words, 19);
}

}  // namespace
}  // namespace corehold
