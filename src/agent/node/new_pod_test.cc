// SPDX-License-Identifier: Apache-2.0
#include "agent/node/new_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "pod/qos.h"
#include "runtime/workspace/launch.h"

namespace corehold {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kPod =
    R"({"metadata": {"name": "a", "uid": "mine"},
        "spec": {"containers": [{"name": "main", "command": ["true"]}]}})";

const NodeRules kRules{.unrunnable = mistakes_of};

Pod read(const char* text) {
  auto pods = parse_pods_json(text);
  EXPECT_TRUE(pods);
  return pods->front();
}

TEST(NewPod, GetsAUidOfItsOwn) {
  Pod pod = read(kPod);
  ASSERT_TRUE(accept_run_pod(pod, kRules));
  EXPECT_THAT(pod.uid, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-.*"));
}

TEST(NewPod, TellsAllMistakesAtOnce) {
  Pod pod = read(
      R"({"metadata": {"name": "A/B"}, "spec": {"containers": [{"name": "../x", "command": ["true"]},
          {"name": "b"}]}})");
  const auto accepted = accept_run_pod(pod, kRules);
  ASSERT_FALSE(accepted);
  EXPECT_THAT(accepted.error().message, HasSubstr("metadata.name: \"A/B\" must be"));
  EXPECT_THAT(accepted.error().message, HasSubstr("container name \"../x\" must be"));
  EXPECT_THAT(accepted.error().message, HasSubstr("command"));
}

TEST(NewPod, OfARunIsGuaranteedWholeCpus) {
  Pod pod = run_pod({.cpus = 3, .pid = 9, .command = {"make", "-j3"}, .working_directory = "/src"});
  ASSERT_TRUE(accept_run_pod(pod, kRules));
  EXPECT_THAT(pod.name, MatchesRegex("run-[a-z0-9]{5}"));
  EXPECT_EQ(qos_class(pod, {}), QosClass::kGuaranteed);
  EXPECT_EQ(exclusive_cpus(pod, {}), 3);
  EXPECT_EQ(pod.restart_policy, "Never");
  EXPECT_EQ(pod.annotations.at(std::string(kRunAnnotation)), "true");
}

}  // namespace
}  // namespace corehold
