// SPDX-License-Identifier: Apache-2.0
//
// Documents, the order of what is reported, and texts that mean harm.
#include "config/read_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigDocuments, MayComeAloneOrTogetherInAnyOrder) {
  const std::string one = kubelet("syncFrequency: 2m\n");
  const std::string other = corehold_document("minSharedCPUs: 3\n");
  for (const std::string& text :
       {fmt::format("{}---\n{}", one, other), fmt::format("{}---\n{}", other, one),
        fmt::format("---\n---\n{}---\n# nothing\n---\n{}", one, other)}) {
    const CheckedConfig checked = read_config(text);
    EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
    EXPECT_EQ(checked.config.sync_frequency, std::chrono::minutes(2));
    EXPECT_EQ(checked.config.static_options.min_shared_cpus, 3);
  }
  EXPECT_THAT(mistakes_in(one), IsEmpty());
  EXPECT_THAT(mistakes_in(other), IsEmpty());
  EXPECT_THAT(
      mistakes_in(
          R"({"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"})"),
      IsEmpty());
}

TEST(ConfigDocuments, MayComeFromAnyEditor) {
  EXPECT_THAT(mistakes_in("\xef\xbb\xbf" + kubelet("maxPods: 1\n")), IsEmpty());
  EXPECT_THAT(mistakes_in("kind: KubeletConfiguration\r\napiVersion: "
                          "kubelet.config.k8s.io/v1beta1\r\nsyncFrequency: 1\r\n"),
              ElementsAre(HasSubstr("3: syncFrequency: ")));
}

TEST(ConfigDocuments, OfOneKindTwiceAreAMistake) {
  EXPECT_THAT(
      mistakes_in(kubelet("---\n") + corehold_document("---\n") + kubelet("maxPods: 1\n")),
      ElementsAre("7: KubeletConfiguration is there already, at line 1; put both into one"));
}

TEST(ConfigDocuments, OfNoKnownKindAreAMistake) {
  EXPECT_THAT(
      mistakes_in("kind: Pod\napiVersion: v1\n---\nmaxPods: 1\n---\n- 1\n---\nkind: [x]\n"),
      ElementsAre("1: kind: \"Pod\" is not known; there are KubeletConfiguration, "
                  "CoreholdConfiguration",
                  "4: kind is missing; there are KubeletConfiguration, CoreholdConfiguration",
                  "6: must be an object: lines of \"name: value\", indented",
                  "8: kind: must be a string"));
}

TEST(ConfigDocuments, NeedTheirVersion) {
  EXPECT_THAT(mistakes_in("kind: KubeletConfiguration\nsyncFrequency: x\n---\n"
                          "kind: CoreholdConfiguration\napiVersion: corehold.dev/v1\n"),
              ElementsAre("1: apiVersion is missing; KubeletConfiguration has "
                          "kubelet.config.k8s.io/v1beta1",
                          "2: syncFrequency: \"x\" is not a duration; write it as in \"10s\" or "
                          "\"1m30s\"",
                          "5: apiVersion: \"corehold.dev/v1\" is not known; CoreholdConfiguration "
                          "has corehold.dev/v1alpha1"));
}

TEST(ConfigDocuments, ThereMustBeOne) {
  const std::string expected =
      "1: there is no configuration here; it begins with kind: KubeletConfiguration or "
      "CoreholdConfiguration";
  EXPECT_THAT(mistakes_in(""), ElementsAre(expected));
  EXPECT_THAT(mistakes_in("# nothing\n---\n"), ElementsAre(expected));
}

TEST(ConfigMistakes, AreInTheOrderOfTheirLines) {
  EXPECT_THAT(mistakes_in(corehold_document("memoryPinning: 1\n---\n") +
                          kubelet("cpuManagerPolicy: static\nsyncFrequency: 1\nsyncFrequency: 2\n"
                                  "featureGates: {CPUManager: false}\n")),
              ElementsAre(HasSubstr("3: memoryPinning"), HasSubstr("7: cpuManagerPolicy"),
                          HasSubstr("8: syncFrequency"), "9: key \"syncFrequency\" is given twice",
                          HasSubstr("10: featureGates.CPUManager")));
}

TEST(ConfigMistakes, ASyntaxErrorEndsItButNotForTheDocumentsBefore) {
  const auto mistakes =
      mistakes_in(corehold_document("memoryPinning: 1\n---\n") + kubelet("a: [1\nb: 2\n"));
  EXPECT_THAT(mistakes, ElementsAre(HasSubstr("3: memoryPinning"), testing::_));
}

TEST(ConfigMistakes, AnAliasIsReportedWhereItsAnchorIs) {
  EXPECT_THAT(mistakes_in(kubelet("kubeReserved: &amounts\n  cpu: x\nsystemReserved: *amounts\n")),
              ElementsAre(HasSubstr("4: kubeReserved.cpu"), HasSubstr("4: systemReserved.cpu")));
}

TEST(HostileConfig, IsRefusedInBoundedTime) {
  EXPECT_THAT(mistakes_in(std::string(10'000'000, 'x')),
              ElementsAre("0: 10000000 bytes are more than the limit of 1048576"));
  EXPECT_THAT(mistakes_in(std::string(100'000, '[')), ElementsAre(HasSubstr("1: ")));
  EXPECT_THAT(mistakes_in(std::string("kind: \0", 7)),
              ElementsAre("1: byte 0x00 is not UTF-8 text"));
  EXPECT_THAT(mistakes_in("kind: \xff"), ElementsAre("1: byte 0xff is not UTF-8 text"));
  EXPECT_EQ(mistakes_in("a: &a *a\n").size(), 1U);
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  EXPECT_THAT(mistakes_in(bomb), ElementsAre(HasSubstr("expand to more than 100000 values")));
}

TEST(HostileConfig, MayHaveTenThousandMistakes) {
  std::string text = corehold_document("devices:\n");
  for (int i = 0; i < 5'000; ++i) text += "- {a: 1, b}\n";
  EXPECT_EQ(mistakes_in(text).size(), 10'000U);
  text = kubelet("cpuManagerPolicyOptions:\n");
  for (int i = 0; i < 5'000; ++i) text += fmt::format(" o{}: x\n", i);
  EXPECT_EQ(mistakes_in(text).size(), 5'001U);
}

TEST(HostileConfig, IsQuotedInShort) {
  const std::string key(1000, 'k');
  const std::string word(50'000, 'w');
  const std::string text =
      kubelet(
          fmt::format("cpuManagerPolicy: {1}\nreservedSystemCPUs: {1}\nkubeReserved: {{{0}: {1}, "
                      "cpu: {1}, memory: {1}}}\nfeatureGates: {{{0}: {1}}}\nsyncFrequency: {1}\n"
                      "topologyManagerPolicy: {1}\ntopologyManagerScope: {1}\n"
                      "cpuManagerPolicyOptions: {{{0}: {1}, full-pcpus-only: {1}}}\n"
                      "topologyManagerPolicyOptions: {{{0}: {1}}}\n---\n",
                      key, word)) +
      corehold_document(fmt::format("{0}: 1\nmemory: [{{numaNode: 0, memory: {1}}}]\n", key, word));
  const auto mistakes = mistakes_in(text);
  EXPECT_EQ(mistakes.size(), 14U);
  for (const std::string& mistake : mistakes) EXPECT_LT(mistake.size(), 700U) << mistake;
}

TEST(HostileConfig, NumbersMayBeHuge) {
  EXPECT_EQ(mistakes_in(corehold_document("minSharedCPUs: 99999999999999999999\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(corehold_document("minSharedCPUs: 18446744073709551615\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(corehold_document("minSharedCPUs: 4294967297\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(corehold_document("minSharedCPUs: 1.5\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(kubelet("reservedSystemCPUs: 0-99999999999999999999\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(kubelet("reservedSystemCPUs: 0-4096\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(kubelet("kubeReserved: {cpu: 1e999999999}\n")).size(), 1U);
}

Config right(std::string_view text) {
  const CheckedConfig checked = read_config(text);
  EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
  return checked.config;
}

std::string error_on(std::string_view text, const char* shape) {
  const auto checked = check_on(right(text), machine(shape));
  return checked ? "" : checked.error().message;
}

TEST(ConfigOnAMachine, NeedsItsCpus) {
  const std::string text = kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: 0,8-9\n");
  EXPECT_EQ(error_on(text, "2s4c2t"), "");
  EXPECT_EQ(error_on(text, "1s4c2t"),
            "reservedSystemCPUs: reserved-cpus: 0,8-9 is not a subset of online-cpus: 0-7; the "
            "machine does not have 8-9");
  EXPECT_EQ(error_on(kubelet("cpuManagerPolicy: static\nkubeReserved: {cpu: \"5\"}\n"), "1s4c"),
            "kubeReserved: 5 CPUs are to be reserved, the machine has 4");
}

TEST(ConfigOnAMachine, LeavesEnoughToShare) {
  const std::string text = kubelet(
      "cpuManagerPolicy: static\nreservedSystemCPUs: 0-3\n"
      "cpuManagerPolicyOptions: {strict-cpu-reservation: \"true\"}\n");
  EXPECT_EQ(error_on(text, "1s8c"), "");
  EXPECT_EQ(
      error_on(text, "1s4c"),
      "reservedSystemCPUs: strict-cpu-reservation leaves 0 CPUs to share, minSharedCPUs is 1; "
      "reserve at most 3 CPUs");
  EXPECT_EQ(error_on(kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
                             "cpuManagerPolicyOptions: {strict-cpu-reservation: \"true\"}\n---\n") +
                         corehold_document("minSharedCPUs: 2\n"),
                     "1s2c"),
            "reservedSystemCPUs: strict-cpu-reservation leaves 0 CPUs to share, minSharedCPUs is "
            "2; the machine is too small: it has 2 CPUs, and at least one is reserved and 2 "
            "shared; lower minSharedCPUs or drop strict-cpu-reservation");
  EXPECT_EQ(error_on(kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n"
                             "cpuManagerPolicyOptions: {strict-cpu-reservation: \"true\"}\n"),
                     "1s1c"),
            "reservedSystemCPUs: strict-cpu-reservation leaves 0 CPUs to share, minSharedCPUs is "
            "1; the machine is too small: it has 1 CPU, and at least one is reserved and 1 shared; "
            "drop strict-cpu-reservation");
}

TEST(ConfigOnAMachine, NeedsItsNumaNodes) {
  const std::string text =
      kubelet(
          "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 2, limits: {memory: 1}}]\n"
          "evictionHard: {memory.available: \"1\"}\n---\n") +
      corehold_document(
          "devices: [{resource: a.b/c, devices: [{id: x, numaNodes: [0, 3]}, {id: z}]}]\n"
          "memory: [{numaNode: 2, memory: 1Gi}]\n");
  EXPECT_EQ(error_on(text, "4s2c"), "");
  EXPECT_EQ(error_on(text, "2s2c"),
            "reservedMemory[0].numaNode: the machine does not have NUMA node 2, it has 0-1; "
            "devices[0].devices[0].numaNodes: device x of a.b/c: the machine does not have NUMA "
            "node 3, it has 0-1; memory[0].numaNode: the machine does not have NUMA node 2, it has "
            "0-1");
}

TEST(ConfigOnAMachine, NeedsItsMemory) {
  const std::string text = kubelet(
      "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n"
      "evictionHard: {memory.available: 1Gi}\n");
  EXPECT_EQ(error_on(text, "1s2c"),
            "reservedMemory: the machine does not say what memory it has; give it as memory in "
            "CoreholdConfiguration");
}

TEST(ConfigOnAMachine, NeedsHardwareThatGoesWithItsOptions) {
  const std::string text = kubelet(
      "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\ntopologyManagerPolicy: best-effort\n"
      "cpuManagerPolicyOptions: {align-by-socket: \"true\"}\n"
      "featureGates: {CPUManagerPolicyAlphaOptions: true}\n");
  EXPECT_EQ(error_on(text, "2s2c"), "");
  EXPECT_EQ(error_on(text, "1n2s2c"),
            "cpuManagerPolicyOptions.align-by-socket: Align by socket is not compatible with "
            "hardware where number of sockets are more than number of NUMA");
  EXPECT_EQ(error_on(text, "9s2c"),
            "topologyManagerPolicy: unsupported on machines with more than 8 NUMA Nodes: this one "
            "has 9; raise max-allowable-numa-nodes, or set policy none");
}

}  // namespace
}  // namespace corehold
