// SPDX-License-Identifier: Apache-2.0
//
// What depends on several fields: gates, options, reservations, memory, runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FeatureGatesRule, ResizeOfExclusiveCpusNeedsResize) {
  EXPECT_THAT(mistakes_in(kubelet("featureGates:\n  InPlacePodVerticalScaling: false\n"
                                  "  InPlacePodVerticalScalingExclusiveCPUs: true\n")),
              ElementsAre("5: featureGates.InPlacePodVerticalScalingExclusiveCPUs: needs feature "
                          "gate InPlacePodVerticalScaling, which is off; switch that on or this "
                          "off"));
}

TEST(FeatureGatesRule, TheCpuManagerCannotBeSwitchedOff) {
  EXPECT_THAT(mistakes_in(kubelet("featureGates: {CPUManager: false}")),
              ElementsAre("3: featureGates.CPUManager: cannot set feature gate CPUManager to "
                          "false, feature is locked to true; to leave CPUs alone, set "
                          "cpuManagerPolicy: none"));
  EXPECT_THAT(mistakes_in(kubelet("featureGates: {CPUManager: true}")), IsEmpty());
}

TEST(FeatureGates, KnowTheirPlaceInTheTable) {
  for (std::size_t i = 0; i < kGateCount; ++i) {
    const GateInfo& row = gate_table()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.gate), i);
    EXPECT_EQ(find_gate(row.name), &row);
    EXPECT_EQ(FeatureGates{}.is_on(row.gate), row.is_on_by_default);
  }
  EXPECT_EQ(find_gate("MemoryQoS"), nullptr);
  EXPECT_TRUE(FeatureGates{}.changed().empty());
}

constexpr std::string_view kStatic = "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n";

TEST(PolicyOptionsRule, EveryBadOptionHasItsLine) {
  EXPECT_THAT(
      mistakes_in(kubelet(std::string(kStatic) +
                          "cpuManagerPolicyOptions:\n  strict-cpu-reservation: \"x\"\n"
                          "  full-pcpu-only: \"true\"\n  align-by-socket: \"true\"\n"
                          "  distribute-cpus-across-numa: \"true\"\n"
                          "featureGates: {CPUManagerPolicyBetaOptions: false}\n")),
      ElementsAre(
          "6: cpuManagerPolicyOptions.strict-cpu-reservation: bad value for option "
          "\"strict-cpu-reservation\": strconv.ParseBool: parsing \"x\": invalid syntax; write "
          "\"true\" or \"false\"",
          "7: cpuManagerPolicyOptions.full-pcpu-only: unknown CPU Manager Policy option: "
          "\"full-pcpu-only\"; did you mean full-pcpus-only?",
          "8: cpuManagerPolicyOptions.align-by-socket: CPU Manager Policy Alpha-level Options not "
          "enabled, but option \"align-by-socket\" provided; set CPUManagerPolicyAlphaOptions: "
          "true "
          "in featureGates",
          "9: cpuManagerPolicyOptions.distribute-cpus-across-numa: CPU Manager Policy Beta-level "
          "Options not enabled, but option \"distribute-cpus-across-numa\" provided; set "
          "CPUManagerPolicyBetaOptions: true in featureGates"));
}

TEST(PolicyOptionsRule, NoMistakeHidesAnother) {
  const std::string gate = "; set CPUManagerPolicyAlphaOptions: true in featureGates";
  EXPECT_THAT(
      mistakes_in(kubelet(std::string(kStatic) +
                          "cpuManagerPolicyOptions:\n  full-pcpus-only: \"yes\"\n"
                          "  distribute-cpus-across-cores: true\n"
                          "  scale-delay-time: \"20s\"\n  align-by-socket: \"on\"\n")),
      ElementsAre(
          "6: cpuManagerPolicyOptions.full-pcpus-only: bad value for option \"full-pcpus-only\": "
          "strconv.ParseBool: parsing \"yes\": invalid syntax; write \"true\" or \"false\"",
          "7: cpuManagerPolicyOptions.distribute-cpus-across-cores: must be a string; put it in "
          "quotes, as in \"true\"",
          "7: cpuManagerPolicyOptions.distribute-cpus-across-cores: CPU Manager Policy Alpha-level "
          "Options not enabled, but option \"distribute-cpus-across-cores\" provided" +
              gate,
          "7: cpuManagerPolicyOptions.distribute-cpus-across-cores: static policy options "
          "full-pcpus-only and distribute-cpus-across-cores can not be used at the same time",
          "8: cpuManagerPolicyOptions.scale-delay-time: CPU Manager Policy Alpha-level Options not "
          "enabled, but option \"scale-delay-time\" provided" +
              gate,
          "8: cpuManagerPolicyOptions.scale-delay-time: bad value for option "
          "\"scale-delay-time\": \"20s\" is longer than 10s; write 0s to 10s, as in \"5s\", "
          "\"500ms\" or \"1.5s\"",
          "8: cpuManagerPolicyOptions.scale-delay-time: option \"scale-delay-time\" is 20s but "
          "feature gate InPlacePodVerticalScalingExclusiveCPUs is off; switch it on or set the "
          "option to 0s",
          "9: cpuManagerPolicyOptions.align-by-socket: CPU Manager Policy Alpha-level Options not "
          "enabled, but option \"align-by-socket\" provided" +
              gate,
          "9: cpuManagerPolicyOptions.align-by-socket: bad value for option \"align-by-socket\": "
          "strconv.ParseBool: parsing \"on\": invalid syntax; write \"true\" or \"false\""));
}

TEST(PolicyOptionsRule, AValueThatIsMeantAsANoExcludesNothing) {
  EXPECT_EQ(mistakes_in(kubelet(std::string(kStatic) +
                                "cpuManagerPolicyOptions: {full-pcpus-only: \"no\", "
                                "distribute-cpus-across-cores: \"true\", scale-delay-time: \"0\"}\n"
                                "featureGates: {CPUManagerPolicyAlphaOptions: true}\n"))
                .size(),
            2U);
}

TEST(FeatureGates, OfAnOptionAreThoseOfItsStage) {
  EXPECT_EQ(gate_of_stage(kCpuOptionGates, OptionStage::kAlpha),
            info(Gate::kCpuManagerPolicyAlphaOptions).name);
  EXPECT_EQ(gate_of_stage(kTopologyOptionGates, OptionStage::kBeta),
            info(Gate::kTopologyManagerPolicyBetaOptions).name);
  EXPECT_EQ(gate_of_stage(kTopologyOptionGates, OptionStage::kStable), "");
}

TEST(PolicyOptionsRule, BothExcludedPairsAreReported) {
  EXPECT_THAT(
      mistakes_in(kubelet(std::string(kStatic) +
                          "cpuManagerPolicyOptions:\n  full-pcpus-only: \"true\"\n"
                          "  distribute-cpus-across-numa: \"true\"\n"
                          "  distribute-cpus-across-cores: \"true\"\n"
                          "featureGates: {CPUManagerPolicyAlphaOptions: true}\n")),
      ElementsAre("8: cpuManagerPolicyOptions.distribute-cpus-across-cores: static policy options "
                  "full-pcpus-only and distribute-cpus-across-cores can not be used at the same "
                  "time",
                  "8: cpuManagerPolicyOptions.distribute-cpus-across-cores: static policy options "
                  "distribute-cpus-across-numa and distribute-cpus-across-cores can not be used at "
                  "the same time"));
}

TEST(PolicyOptionsRule, ADelayNeedsTheGate) {
  EXPECT_THAT(
      mistakes_in(kubelet(std::string(kStatic) +
                          "cpuManagerPolicyOptions: {scale-delay-time: 5s}\n"
                          "featureGates: {CPUManagerPolicyAlphaOptions: true}\n")),
      ElementsAre("5: cpuManagerPolicyOptions.scale-delay-time: option \"scale-delay-time\" is 5s "
                  "but feature gate InPlacePodVerticalScalingExclusiveCPUs is off; switch it on or "
                  "set the option to 0s"));
}

TEST(PolicyOptionsRule, NoneTakesNoOptions) {
  EXPECT_THAT(
      mistakes_in(kubelet("cpuManagerPolicyOptions: {full-pcpus-only: \"true\", b: c}\n")),
      ElementsAre("3: cpuManagerPolicyOptions.b: unknown CPU Manager Policy option: \"b\"",
                  "3: cpuManagerPolicyOptions: None policy: received unsupported "
                  "options=map[b:c full-pcpus-only:true]; set cpuManagerPolicy: static, or remove "
                  "them"));
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicyOptions: {}\n")), IsEmpty());
}

TEST(PolicyOptionsRule, AlignBySocketDoesNotGoWithOneNumaNode) {
  EXPECT_THAT(mistakes_in(kubelet(std::string(kStatic) +
                                  "cpuManagerPolicyOptions: {align-by-socket: \"true\"}\n"
                                  "topologyManagerPolicy: single-numa-node\n"
                                  "featureGates: {CPUManagerPolicyAlphaOptions: true}\n")),
              ElementsAre("5: cpuManagerPolicyOptions.align-by-socket: Topolgy manager "
                          "single-numa-node policy is incompatible with CPUManager align-by-socket "
                          "policy option; use restricted or best-effort, or drop the option"));
}

TEST(TopologyOptionsRule, EveryBadOptionHasItsLine) {
  EXPECT_THAT(
      mistakes_in(kubelet("topologyManagerPolicyOptions:\n  prefer-closest-numa-node: \"true\"\n"
                          "  max-allowable-numa-nodes: many\n")),
      ElementsAre("4: topologyManagerPolicyOptions.prefer-closest-numa-node: unknown Topology "
                  "Manager Policy option: \"prefer-closest-numa-node\"; did you mean "
                  "prefer-closest-numa-nodes?",
                  "5: topologyManagerPolicyOptions.max-allowable-numa-nodes: unable to convert "
                  "policy option to integer \"max-allowable-numa-nodes\": strconv.Atoi: parsing "
                  "\"many\": invalid syntax"));
}

TEST(TopologyOptionsRule, NoMoreNumaNodesThanCoreholdSupports) {
  const auto with = [](const char* most) {
    return mistakes_in(kubelet(
        fmt::format("topologyManagerPolicyOptions: {{max-allowable-numa-nodes: \"{}\"}}\n", most)));
  };
  EXPECT_THAT(with("64"), IsEmpty());
  EXPECT_THAT(with("65"),
              ElementsAre("3: topologyManagerPolicyOptions.max-allowable-numa-nodes: 64 NUMA nodes "
                          "are the most that Corehold supports; write \"64\" or less"));
  EXPECT_EQ(with("9999999999").size(), 1U);
}

TEST(ReservationRule, StaticNeedsAReservedCpu) {
  const std::string expected =
      "3: cpuManagerPolicy: the static policy requires systemreserved.cpu + kubereserved.cpu to be "
      "greater than zero; give reservedSystemCPUs, or cpu in kubeReserved or systemReserved";
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicy: static\n")), ElementsAre(expected));
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: \"\"\n")),
              ElementsAre(expected));
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicy: static\nkubeReserved: {cpu: 1m}\n")),
              IsEmpty());
}

TEST(ReservationRule, IsSilentWhereTheReservationCouldNotBeRead) {
  EXPECT_EQ(mistakes_in(kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: all\n")).size(), 1U);
  EXPECT_EQ(mistakes_in(kubelet("cpuManagerPolicy: static\nkubeReserved: {cpu: x}\n")).size(), 1U);
}

TEST(MemoryRule, StaticNeedsReservedMemory) {
  EXPECT_THAT(mistakes_in(kubelet("memoryManagerPolicy: Static\n")),
              ElementsAre("3: memoryManagerPolicy: Static needs reservedMemory, the memory of each "
                          "NUMA node that the system keeps"));
  EXPECT_THAT(
      texts_of(read_config(kubelet("reservedMemory: [{numaNode: 0, limits: {memory: 1}}]")).notes),
      ElementsAre("3: reservedMemory: without effect: memoryManagerPolicy is None"));
}

TEST(MemoryRule, NoMoreIsReservedThanThereIs) {
  EXPECT_THAT(
      mistakes_in(kubelet("memoryManagerPolicy: Static\nreservedMemory:\n"
                          "- {numaNode: 0, limits: {memory: 2Ki}}\n"
                          "- {numaNode: 1, limits: {memory: 1}}\n"
                          "kubeReserved: {memory: \"2049\"}\nevictionHard: {}\n---\n") +
                  corehold_document("memory: [{numaNode: 0, memory: 1Ki}]\n")),
      ElementsAre("5: reservedMemory[0].limits.memory: cannot reserve 2Ki of memory on NUMA node "
                  "0, which has 1Ki",
                  "6: reservedMemory[1].limits.memory: cannot reserve 1 of memory on NUMA node 1, "
                  "which has 0"));
}

// memoryManagerPolicy Static with 1Gi and 100Mi reserved, and these fields.
std::vector<std::string> sum_mistakes(std::string_view fields) {
  return mistakes_in(
      kubelet(fmt::format("memoryManagerPolicy: Static\n"
                          "reservedMemory: [{{numaNode: 0, limits: {{memory: 1124Mi}}}}]\n{}",
                          fields)));
}

TEST(MemoryRule, ReservedMemoryIsTheSumOfTheOtherReservations) {
  EXPECT_THAT(sum_mistakes("kubeReserved: {memory: 1Gi}\n"), IsEmpty());
  EXPECT_THAT(
      sum_mistakes("kubeReserved: {memory: 1Gi}\nsystemReserved: {memory: 1Gi}\n"),
      ElementsAre("4: reservedMemory: the total amount \"1124Mi\" of type \"memory\" is not "
                  "equal to the value \"2148Mi\" determined by Node Allocatable feature: "
                  "1Gi of kubeReserved, 1Gi of systemReserved and 100Mi of evictionHard "
                  "memory.available; change either"));
}

TEST(MemoryRule, WhatIsEvictedForCountsAsReserved) {
  EXPECT_THAT(sum_mistakes("evictionHard: {memory.available: 1124Mi}\n"), IsEmpty());
  EXPECT_EQ(sum_mistakes("kubeReserved: {memory: 1Gi}\nevictionHard: {pid.available: 1%}\n").size(),
            1U);
  EXPECT_THAT(sum_mistakes("kubeReserved: {memory: 1Gi}\nevictionHard: {pid.available: 1%}\n"
                           "mergeDefaultEvictionSettings: true\n"),
              IsEmpty());
  // A share of memory is known on the machine only.
  EXPECT_THAT(sum_mistakes("evictionHard: {memory.available: 5%}\n"), IsEmpty());
  EXPECT_THAT(sum_mistakes("evictionHard: {memory.available: much}\n"),
              ElementsAre("5: evictionHard.memory.available: \"much\" is not an amount of memory; "
                          "write it as in \"100Mi\" or \"5%\""));
}

TEST(MemoryRule, HugePagesThatAKubeletRefusesAreNoted) {
  const CheckedConfig checked =
      read_config(kubelet("memoryManagerPolicy: Static\nreservedMemory:\n- numaNode: 0\n  limits:\n"
                          "    memory: 100Mi\n    hugepages-1Gi: 1Gi\n"));
  EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
  EXPECT_THAT(
      texts_of(checked.notes),
      ElementsAre("8: reservedMemory[0].limits.hugepages-1Gi: a kubelet does not start with "
                  "huge pages here, as kubeReserved and systemReserved have none; Corehold "
                  "leaves them to the system"));
}

TEST(PolicyRule, AFileThatNamesNoPolicyIsWarnedOf) {
  const auto warnings = [](const std::string& text) {
    return texts_of(read_config(text).warnings);
  };
  EXPECT_THAT(warnings(kubelet("reservedSystemCPUs: \"0\"\n")),
              ElementsAre("0: cpuManagerPolicy: not given, and so none, as for a kubelet: no "
                          "exclusive CPUs will be given; set cpuManagerPolicy: static"));
  EXPECT_EQ(warnings(corehold_document("memoryPinning: true\n")).size(), 1U);
  EXPECT_THAT(warnings(kubelet("cpuManagerPolicy: none\n")), IsEmpty());
  EXPECT_THAT(warnings(kubelet("cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n")),
              IsEmpty());
}

TEST(AbsentPartRule, FieldsWhosePartIsNotThereYetAreNoted) {
  EXPECT_THAT(texts_of(read_config(corehold_document("listen: {address: \"127.0.0.1:1\"}\n"
                                                     "paths: {podinfo: /p}\n"
                                                     "podinfo: {annotations: true}\n"))
                           .notes),
              ElementsAre("4: paths.podinfo: without effect yet"));
  EXPECT_THAT(texts_of(read_config(kubelet("cpuManagerPolicy: none\nsyncFrequency: 1m\n")).notes),
              ElementsAre("4: syncFrequency: without effect yet"));
}

TEST(RuntimeRule, AnEndpointGoesWithARuntimeThatHasOne) {
  EXPECT_THAT(mistakes_in(corehold_document("runtime: {kind: nri}\n")),
              ElementsAre("3: runtime.kind: nri needs runtime.endpoint, as in "
                          "unix:///run/containerd/containerd.sock"));
  EXPECT_THAT(mistakes_in(corehold_document("runtime:\n  endpoint: /run/crio/crio.sock\n")),
              ElementsAre("4: runtime.endpoint: kind process has no endpoint; set kind to cri or "
                          "nri, or remove it"));
}

}  // namespace
}  // namespace corehold
