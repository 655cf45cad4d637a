// SPDX-License-Identifier: Apache-2.0
#include "pod/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Quantity q(std::string_view text) { return *Quantity::parse(text); }

Container container(std::string name, ResourceList requests, ResourceList limits) {
  return {.name = std::move(name),
          .resources = {.requests = std::move(requests), .limits = std::move(limits)}};
}

Pod pod_of(std::vector<Container> containers) {
  return {.name = "pg-0", .namespace_name = "db", .containers = std::move(containers)};
}

TEST(PodDefaults, RequestsFollowLimits) {
  Pod pod =
      pod_of({container("main", {{"memory", q("1Gi")}}, {{"cpu", q("2")}, {"memory", q("2Gi")}})});
  set_defaults(pod);
  EXPECT_EQ(pod.containers[0].request("cpu"), q("2"));
  EXPECT_EQ(pod.containers[0].request("memory"), q("1Gi"));
  EXPECT_EQ(pod.restart_policy, "Always");
}

TEST(PodDefaults, AreTheSameTheSecondTime) {
  Pod pod = pod_of({container("main", {}, {{"cpu", q("2")}})});
  pod.namespace_name = "";
  set_defaults(pod);
  Pod again = pod;
  set_defaults(again);
  EXPECT_EQ(again, pod);
  EXPECT_EQ(pod.namespace_name, "default");
}

TEST(PodFind, LooksAtInitContainersToo) {
  Pod pod = pod_of({container("main", {}, {})});
  pod.init_containers = {{.name = "setup", .kind = Container::Kind::kInit}};
  EXPECT_EQ(pod.find("setup")->kind, Container::Kind::kInit);
  EXPECT_EQ(pod.find("main")->kind, Container::Kind::kApp);
  EXPECT_EQ(pod.find("gone"), nullptr);
}

TEST(PodValidate, AcceptsTwoHundredContainers) {
  std::vector<Container> containers;
  containers.reserve(200);
  for (int i = 0; i < 200; ++i) {
    containers.push_back(container("c" + std::to_string(i), {}, {{"cpu", q("1")}}));
  }
  EXPECT_THAT(mistakes(pod_of(containers)), IsEmpty());
}

TEST(PodValidate, NamesEveryMistakeWithItsPath) {
  Pod pod = pod_of({container("a", {{"cpu", q("2")}}, {{"cpu", q("1")}}),
                    container("a", {}, {{"memory", q("-1")}}), container("", {}, {})});
  pod.name = "";
  EXPECT_THAT(
      mistakes(pod),
      ElementsAre("metadata.name: required",
                  "spec.containers[0].resources.requests.cpu: 2 is more than the limit of 1",
                  "spec.containers[1].name: duplicate container name \"a\"",
                  "spec.containers[1].resources.limits.memory: -1 is negative; must be 0 or more",
                  "spec.containers[2].name: required"));
}

TEST(PodValidate, RefusesAPodWithoutContainers) {
  const auto valid = validate(pod_of({}));
  ASSERT_FALSE(valid);
  EXPECT_EQ(
      valid.error(),
      (Error{Code::kInvalid, "pod db/pg-0: spec.containers: a pod needs at least one container"}));
}

TEST(PodValidate, RefusesCpusBeyond64Bits) {
  EXPECT_THAT(
      mistakes(pod_of({container("a", {}, {{"cpu", q("1e400")}})})),
      ElementsAre("spec.containers[0].resources.limits.cpu: 10e399 CPUs do not fit 64 bits"));
}

TEST(PodValidate, SharesNamesBetweenInitContainersAndContainers) {
  Pod pod = pod_of({container("a", {}, {})});
  pod.init_containers = {container("a", {}, {})};
  EXPECT_THAT(mistakes(pod),
              ElementsAre("spec.containers[0].name: duplicate container name \"a\""));
}

TEST(TerminationGrace, IsThirtySecondsUnlessAWholeNumberIsWritten) {
  Pod pod = pod_of({container("a", {}, {})});
  EXPECT_EQ(termination_grace(pod), std::chrono::seconds(30));
  pod.raw.edit()["spec"] = {{"terminationGracePeriodSeconds", 0}};
  EXPECT_EQ(termination_grace(pod), std::chrono::seconds(0));
  pod.raw.edit()["spec"] = {{"terminationGracePeriodSeconds", -5}};
  EXPECT_EQ(termination_grace(pod), std::chrono::seconds(30));
  pod.raw.edit()["spec"] = {{"terminationGracePeriodSeconds", "soon"}};
  EXPECT_EQ(termination_grace(pod), std::chrono::seconds(30));
}

}  // namespace
}  // namespace corehold
