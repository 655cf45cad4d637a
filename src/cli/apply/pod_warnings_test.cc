// SPDX-License-Identifier: Apache-2.0
#include "cli/apply/pod_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_yaml.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> warnings(const std::string& spec) {
  const auto pods =
      read_manifest("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " + spec + "\n");
  EXPECT_TRUE(pods) << pods.error().message;
  return pods ? warnings_of(pods->front()) : std::vector<std::string>{};
}

TEST(PodWarnings, AreNoneForAPodAsItShouldBe) {
  EXPECT_THAT(warnings("{restartPolicy: Never, containers: [{name: main, command: [sleep, '1'], "
                       "resources: {limits: {cpu: 2, memory: 1Gi}}}]}"),
              IsEmpty());
  EXPECT_THAT(warnings("{containers: [{name: main, resources: {limits: {cpu: 500m}}}]}"),
              IsEmpty());
  EXPECT_THAT(warnings("{containers: [{name: main, restartPolicy: Never, restartPolicyRules: "
                       "[{action: Restart, exitCodes: {operator: In, values: [3]}}]}]}"),
              IsEmpty());
}

TEST(PodWarnings, NameTheFieldThatWasMeant) {
  EXPECT_THAT(warnings("{restartPolcy: Never, containers: [{name: main, comand: [sleep], "
                       "resources: {limit: {cpu: 2}}}]}"),
              ElementsAre("spec.restartPolcy: is not a known field; did you mean restartPolicy?",
                          "spec.containers[0].comand: is not a known field; did you mean command?",
                          "spec.containers[0].resources.limit: is not a known field; did you mean "
                          "limits?"));
}

TEST(PodWarnings, NameWhatThisNodeDoesNotHonour) {
  EXPECT_THAT(warnings("{activeDeadlineSeconds: 5, containers: [{name: main, livenessProbe: {}}]}"),
              ElementsAre("spec.activeDeadlineSeconds: this node does not honour it",
                          "spec.containers[0].livenessProbe: this node does not honour it"));
}

TEST(PodWarnings, SayWhyWholeCpusAreShared) {
  EXPECT_THAT(warnings("{containers: [{name: main, resources: {limits: {cpu: 2}}}]}"),
              ElementsAre("container main shares CPUs: for CPUs of its own every container of the "
                          "pod needs limits for cpu and memory, and requests, if given, equal to "
                          "them"));
  EXPECT_THAT(
      warnings("{containers: [{name: main, resources: {limits: {cpu: 2500m, memory: 1Gi}}}]}"),
      ElementsAre("container main shares CPUs: its CPUs are no whole number"));
}

}  // namespace
}  // namespace corehold
