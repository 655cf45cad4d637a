// SPDX-License-Identifier: Apache-2.0
#include "plan/entitlement.h"

#include <gtest/gtest.h>

#include "pod/pod_yaml.h"

namespace corehold {
namespace {

Pod pod(const std::string& spec) {
  auto pods = read_manifest("{\"metadata\": {\"name\": \"p\"}, " + spec + "}");
  if (!pods) ADD_FAILURE() << pods.error().message;
  return pods->front();
}

Pod with_resources(const std::string& resources) {
  return pod("\"spec\": {\"containers\": [{\"name\": \"c\", \"resources\": {" + resources + "}}]}");
}

std::string qos(const Pod& pod) { return qos_reason(pod, {}); }
std::string cpu(const Pod& pod) { return entitlement(pod, pod.containers.front(), {}); }

TEST(QosReason, NamesTheFirstShortcoming) {
  EXPECT_EQ(qos(with_resources("")), "nobody in it asks for CPU or memory");
  EXPECT_EQ(qos(with_resources(R"("limits": {"cpu": "2"})")), "container c has no memory limit");
  EXPECT_EQ(qos(with_resources(R"("requests": {"cpu": "1"})")), "container c has no cpu limit");
  EXPECT_EQ(
      qos(with_resources(R"("requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"})")),
      "container c requests cpu 1 and may use 2");
  EXPECT_EQ(qos(with_resources(R"("limits": {"cpu": "2", "memory": "1Gi"})")),
            "every container has CPU and memory limits, and requests as much");
}

TEST(QosReason, LooksAtInitContainersToo) {
  EXPECT_EQ(qos(pod(R"("spec": {"initContainers": [{"name": "i"}], "containers": [{"name": "c",
                 "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]})")),
            "container i has no cpu limit");
}

TEST(QosReason, TrustsTheStatus) {
  EXPECT_EQ(qos(pod(R"("spec": {"containers": [{"name": "c"}]},
                       "status": {"qosClass": "Guaranteed"})")),
            "as its status says");
}

TEST(Entitlement, SaysWhyOrWhyNot) {
  EXPECT_EQ(cpu(with_resources(R"("limits": {"cpu": "4", "memory": "1Gi"})")),
            "the pod is Guaranteed and cpu 4 is a whole number");
  EXPECT_EQ(cpu(with_resources(R"("limits": {"cpu": "1500m", "memory": "1Gi"})")),
            "cpu 1500m is not a whole number");
  EXPECT_EQ(cpu(with_resources(R"("limits": {"cpu": "4"})")),
            "the pod is Burstable; only Guaranteed ones have exclusive CPUs");
}

TEST(Entitlement, PodLevelResourcesBringNone) {
  EXPECT_EQ(cpu(pod(R"("spec": {"resources": {"limits": {"cpu": "4", "memory": "1Gi"}},
                       "containers": [{"name": "c",
                       "resources": {"limits": {"cpu": "4", "memory": "1Gi"}}}]})")),
            "the pod has pod-level resources, which never bring exclusive CPUs");
}

}  // namespace
}  // namespace corehold
