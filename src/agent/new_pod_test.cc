// SPDX-License-Identifier: Apache-2.0
#include "agent/new_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/qos.h"

namespace corehold {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kPod =
    R"({"metadata": {"name": "a", "uid": "mine"},
        "spec": {"containers": [{"name": "main", "command": ["true"]}]}})";

TEST(DnsNames, AreWhatKubernetesTakes) {
  for (const char* name : {"a", "a-b", "0", "pg-0"}) EXPECT_TRUE(is_dns_label(name)) << name;
  for (const char* name : {"", "-a", "a-", "A", "a.b", "a/b", "..", "a_b"}) {
    EXPECT_FALSE(is_dns_label(name)) << name;
  }
  EXPECT_TRUE(is_dns_label(std::string(63, 'a')));
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
  EXPECT_TRUE(is_dns_subdomain("a.b-c.d"));
  for (const char* name : {"", ".", "a..b", "a.", "../a"}) {
    EXPECT_FALSE(is_dns_subdomain(name)) << name;
  }
}

TEST(NewPod, GetsAUidOfItsOwnAndTheApisDefaults) {
  auto pod = read_new_pod(kPod, "db");
  ASSERT_TRUE(pod) << pod.error().message;
  ASSERT_TRUE(accept_new_pod(*pod));
  EXPECT_EQ(pod->namespace_name, "db");
  EXPECT_EQ(pod->restart_policy, "Always");
  EXPECT_THAT(pod->uid, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-.*"));
}

TEST(NewPod, FollowsGenerateName) {
  const auto pod = read_new_pod(
      R"({"metadata": {"generateName": "job-"}, "spec": {"containers": [{"name": "main"}]}})",
      "db");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_THAT(pod->name, MatchesRegex("job-[a-z0-9]{5}"));
}

TEST(NewPod, TellsAllMistakesAtOnce) {
  auto pod = read_new_pod(
      R"({"metadata": {"name": "A/B"}, "spec": {"containers": [{"name": "../x", "command": ["true"]},
          {"name": "b"}]}})",
      "db");
  ASSERT_TRUE(pod) << pod.error().message;
  const auto accepted = accept_new_pod(*pod);
  ASSERT_FALSE(accepted);
  EXPECT_THAT(accepted.error().message, HasSubstr("metadata.name: \"A/B\" must be"));
  EXPECT_THAT(accepted.error().message, HasSubstr("container name \"../x\" must be"));
  EXPECT_THAT(accepted.error().message, HasSubstr("command"));
}

TEST(NewPod, OfARunIsGuaranteedWholeCpus) {
  Pod pod = run_pod({.cpus = 3, .pid = 9, .command = {"make", "-j3"}, .working_directory = "/src"});
  ASSERT_TRUE(accept_new_pod(pod));
  EXPECT_THAT(pod.name, MatchesRegex("run-[a-z0-9]{5}"));
  EXPECT_EQ(qos_class(pod, {}), QosClass::kGuaranteed);
  EXPECT_EQ(exclusive_cpus(pod, {}), 3);
  EXPECT_EQ(pod.restart_policy, "Never");
  EXPECT_EQ(pod.annotations.at(std::string(kRunAnnotation)), "true");
}

}  // namespace
}  // namespace corehold
