// SPDX-License-Identifier: Apache-2.0
//
// KubeletConfiguration: what is read, what is refused, what is only noted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

Config config_of(std::string_view text) {
  const CheckedConfig checked = read_config(text);
  EXPECT_EQ(texts_of(checked.mistakes), Texts{});
  return checked.config;
}

TEST(KubeletConfiguration, WithNothingInItIsAllDefaults) {
  const Config config = config_of(kubelet(""));
  EXPECT_EQ(config.cpu_manager_policy, CpuManagerPolicy::kNone);
  EXPECT_EQ(config.static_options, StaticOptions{});
  EXPECT_EQ(config.topology, TopologyOptions{});
  EXPECT_EQ(config.gates, FeatureGates{});
  EXPECT_EQ(config.reserved_count, 0);
  EXPECT_EQ(config.reconcile_period, milliseconds(10'000));
  EXPECT_EQ(config.sync_frequency, milliseconds(60'000));
  EXPECT_EQ(config.memory, std::nullopt);
}

TEST(KubeletConfiguration, SetsEverythingItHonours) {
  const Config config = config_of(kubelet(R"(
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", scale-delay-time: 1.5s}
cpuManagerReconcilePeriod: 5s
reservedSystemCPUs: 0-1,8
topologyManagerPolicy: restricted
topologyManagerScope: pod
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "16"}
featureGates: {CPUManagerPolicyAlphaOptions: true, InPlacePodVerticalScalingExclusiveCPUs: true}
memoryManagerPolicy: Static
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi, hugepages-1Gi: 2Gi}}
- {numaNode: 1, limits: {memory: 2148Mi}}
kubeReserved: {memory: 1Gi, pid: "100"}
systemReserved: {memory: 2Gi, ephemeral-storage: 1Gi}
nodeStatusUpdateFrequency: 20s
syncFrequency: 1m30s
staticPodPath: /etc/kubernetes/manifests
)"));
  EXPECT_EQ(config.cpu_manager_policy, CpuManagerPolicy::kStatic);
  EXPECT_EQ(config.static_options,
            (StaticOptions{.full_pcpus_only = true, .scale_delay = milliseconds(1500)}));
  EXPECT_EQ(config.reconcile_period, milliseconds(5'000));
  EXPECT_EQ(config.reserved_cpus.str(), "0-1,8");
  EXPECT_EQ(config.reserved_count, 3);
  EXPECT_EQ(config.topology, (TopologyOptions{.policy = TopologyPolicy::kRestricted,
                                              .scope = TopologyScope::kPod,
                                              .prefer_closest_numa = true,
                                              .max_numa_nodes = 16}));
  EXPECT_TRUE(config.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus));
  EXPECT_TRUE(config.policy_gates.alpha_options && config.policy_gates.resize_exclusive_cpus);
  EXPECT_EQ(config.memory_manager_policy, MemoryManagerPolicy::kStatic);
  EXPECT_EQ(config.reserved_memory,
            (MemoryInventory{
                {NodeId(0), {{"memory", 1LL << 30}, {"hugepages-1Gi", 2LL << 30}}},
                {NodeId(1), {{"memory", 2148LL << 20}}},
            }));
  EXPECT_EQ(config.sync_frequency, milliseconds(90'000));
  EXPECT_EQ(config.static_pod_path, "/etc/kubernetes/manifests");
}

TEST(KubeletConfiguration, ReservesTheSumRoundedUp) {
  const auto count = [](const char* kube, const char* system) {
    return config_of(kubelet(fmt::format("kubeReserved: {{cpu: {}}}\nsystemReserved: {{cpu: {}}}",
                                         kube, system)))
        .reserved_count;
  };
  EXPECT_EQ(count("500m", "500m"), 1);
  EXPECT_EQ(count("500m", "501m"), 2);
  EXPECT_EQ(count("\"2\"", "1n"), 3);
}

TEST(KubeletConfiguration, ThePeriodFollowsTheStatusUnlessItIsGiven) {
  EXPECT_EQ(config_of(kubelet("nodeStatusUpdateFrequency: 20s")).reconcile_period,
            milliseconds(20'000));
  EXPECT_EQ(config_of(kubelet("nodeStatusUpdateFrequency: 20s\ncpuManagerReconcilePeriod: 0s"))
                .reconcile_period,
            milliseconds(20'000));
}

TEST(KubeletConfiguration, NullIsAbsent) {
  const CheckedConfig checked = read_config(kubelet("cpuManagerPolicy:\nfeatureGates: ~\n"));
  EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
  EXPECT_THAT(texts_of(checked.notes), IsEmpty());
}

TEST(KubeletConfiguration, AnEmptyWordIsTheDefault) {
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicy: \"\"\ntopologyManagerPolicy: \"\"\n"
                                  "topologyManagerScope: \"\"\nmemoryManagerPolicy: \"\"\n"
                                  "reservedSystemCPUs: \"\"\nstaticPodPath: \"\"\n")),
              IsEmpty());
}

TEST(KubeletConfiguration, OtherFieldsAndGatesAreNoted) {
  const CheckedConfig checked = read_config(
      kubelet("maxPods: 250\ncpuManagerPolcy: static\nfeatureGates:\n  GracefulNodeShutdown: true\n"
              "  RestartAllContainersOnContainerExits: true\n"
              "  CPUManagerPolicyAlphaOption: true\n  ExtendWebSocketsToKubelet: true\n"
              "  VolumeBindMountOptions: false\n"));
  EXPECT_THAT(texts_of(checked.mistakes), IsEmpty());
  EXPECT_THAT(
      texts_of(checked.notes),
      ElementsAre("3: maxPods: kubelet field without effect here",
                  "4: cpuManagerPolcy: kubelet field without effect here; did you mean "
                  "cpuManagerPolicy?",
                  "6: featureGates.GracefulNodeShutdown: feature gate without effect here",
                  "8: featureGates.CPUManagerPolicyAlphaOption: feature gate without effect "
                  "here; did you mean CPUManagerPolicyAlphaOptions?",
                  "9: featureGates.ExtendWebSocketsToKubelet: this node does not have it, it is "
                  "not declared"));
  EXPECT_TRUE(checked.config.gates.is_on(Gate::kRestartAllContainersOnContainerExits));
  EXPECT_EQ(checked.config.gates.others,
            (std::map<std::string, bool>{{"GracefulNodeShutdown", true},
                                         {"CPUManagerPolicyAlphaOption", true},
                                         {"ExtendWebSocketsToKubelet", true},
                                         {"VolumeBindMountOptions", false}}));
}

TEST(KubeletConfiguration, SaysWhichFieldsBelongInTheOtherDocument) {
  EXPECT_THAT(texts_of(read_config(kubelet("minSharedCPUs: 2\n")).notes),
              ElementsAre("3: minSharedCPUs: without effect here: it is a field of "
                          "CoreholdConfiguration; put it into a document of that kind"));
  EXPECT_THAT(mistakes_in(corehold_document("cpuManagerPolicy: static\n")),
              ElementsAre("3: cpuManagerPolicy: is a field of KubeletConfiguration; put it into "
                          "the document of that kind"));
}

TEST(KubeletConfiguration, HugePagesAreNamedBySize) {
  EXPECT_THAT(
      mistakes_in(kubelet("reservedMemory: [{numaNode: 0, limits: {hugepages-1G1: 1Gi}}]\n")),
      ElementsAre("3: reservedMemory[0].limits.hugepages-1G1: \"hugepages-1G1\" does not end in "
                  "the size of a huge page; write it as in hugepages-1Gi"));
}

TEST(KubeletConfiguration, ReservedCpusOverruleAmounts) {
  const CheckedConfig checked =
      read_config(kubelet("reservedSystemCPUs: \"0\"\nkubeReserved:\n  cpu: \"4\"\n"));
  EXPECT_EQ(checked.config.reserved_count, 1);
  EXPECT_THAT(texts_of(checked.notes),
              ElementsAre("5: kubeReserved.cpu: without effect: reservedSystemCPUs decides"));
}

TEST(KubeletConfiguration, TakesTypesAsStrictlyAsAKubelet) {
  EXPECT_THAT(
      mistakes_in(
          kubelet("cpuManagerPolicy: [static]\nreservedSystemCPUs: 0\nkubeReserved: {cpu: 1}\n"
                  "featureGates: {CPUManager: \"true\"}\nsyncFrequency: 60\n"
                  "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: true}\n"
                  "reservedMemory: {}\nstaticPodPath: 5\nsystemReserved: []\n")),
      ElementsAre("3: cpuManagerPolicy: must be a string",
                  "4: reservedSystemCPUs: must be a string; write \"0\", with quotes",
                  "5: kubeReserved.cpu: must be a string; write \"1\", with quotes",
                  "6: featureGates.CPUManager: must be true or false, without quotes",
                  "7: syncFrequency: must be a duration with its unit, as in 10s or 1m30s",
                  "8: topologyManagerPolicyOptions.prefer-closest-numa-nodes: must be a string; "
                  "put it in quotes, as in \"true\"",
                  "9: reservedMemory: must be a list: lines that begin with \"- \"",
                  "10: staticPodPath: must be a string; write \"5\", with quotes",
                  "11: systemReserved: must be an object: lines of \"name: value\", indented"));
}

TEST(KubeletConfiguration, NamesWhatThereIsInsteadOfAnUnknownWord) {
  EXPECT_THAT(mistakes_in(kubelet("cpuManagerPolicy: dynamic\nmemoryManagerPolicy: static\n"
                                  "topologyManagerPolicy: best\ntopologyManagerScope: node\n")),
              ElementsAre("3: cpuManagerPolicy: \"dynamic\" is not known; there are none, static",
                          "4: memoryManagerPolicy: \"static\" is not known; there are None, Static",
                          "5: topologyManagerPolicy: \"best\" is not a topology manager policy; "
                          "there are none, best-effort, restricted, single-numa-node",
                          "6: topologyManagerScope: \"node\" is not a topology manager scope; "
                          "there are container, pod"));
}

TEST(KubeletConfiguration, ReservationsHaveTheKubeletsTexts) {
  EXPECT_THAT(
      mistakes_in(kubelet("kubeReserved:\n  cpus: \"1\"\n  cpu: lots\n  memory: -1Gi\n"
                          "systemReserved:\n  cpu: \"5000\"\n  memory: 99E\n")),
      ElementsAre(
          "4: kubeReserved.cpus: cannot reserve \"cpus\" resource; there are cpu, memory, "
          "ephemeral-storage, pid",
          "5: kubeReserved.cpu: failed to parse quantity \"lots\" for \"cpu\" resource: quantities "
          "must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
          "6: kubeReserved.memory: resource quantity for \"memory\" cannot be negative: -1Gi",
          "8: systemReserved.cpu: reserves more than 4096 CPUs, the most a machine may have",
          "9: systemReserved.memory: is more than 64 bits hold"));
}

TEST(KubeletConfiguration, ReservedMemoryNeedsNodesAndAmounts) {
  EXPECT_THAT(
      mistakes_in(kubelet("memoryManagerPolicy: Static\nreservedMemory:\n"
                          "- limits: {memory: 1Gi}\n- numaNode: 64\n  limits: {memory: 1Gi}\n"
                          "- numaNode: 0\n- numaNode: 1\n  limits: {memory: 0, cpu: 1}\n"
                          "- {numaNode: 2, limits: {memory: 1Gi}}\n"
                          "- {numaNode: 2, limits: {memory: 2Gi}, limit: 3}\n- 5\n")),
      ElementsAre(
          "5: reservedMemory[0]: numaNode is missing",
          "6: reservedMemory[1].numaNode: must be a whole number from 0 to 63",
          "8: reservedMemory[2]: limits are missing, as in {memory: 1Gi}",
          "10: reservedMemory[3].limits.memory: must be above zero, as in 64Gi",
          "10: reservedMemory[3].limits.cpu: the limit type \"cpu\" is not supported, only [memory "
          "hugepages-<HugePageSize>] is accepted",
          "12: reservedMemory[5].limit: is not a known field; did you mean limits?",
          "12: reservedMemory[5]: the reserved memory has a duplicate value for NUMA node 2 and "
          "resource \"memory\"",
          "13: reservedMemory[6]: must be an object: lines of \"name: value\", indented"));
}

}  // namespace
}  // namespace corehold
