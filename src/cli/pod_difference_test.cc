// SPDX-License-Identifier: Apache-2.0
#include "cli/pod_difference.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/pod_object.h"
#include "pod/pod_json.h"
#include "pod/pod_yaml.h"

namespace corehold {
namespace {

constexpr std::string_view kSpec = R"(
metadata: {name: web, labels: {app: shop}, creationTimestamp: null}
spec:
  hostNetwork: true
  initContainers: [{name: setup, command: ["true"]}]
  containers: [{name: main, image: busybox, env: [{name: A, value: b}],
    resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 2000m, memory: 1024Mi}}}]
)";

Pod pod_in(const std::string& text) {
  const auto pods = read_manifest(text);
  EXPECT_TRUE(pods) << pods.error().message;
  return pods->front();
}

// The pod as the node gives it back.
Pod on_node(Pod pod) {
  pod.uid = "7f0c1d52";
  return *pod_from_json(
      to_json(PodView{.pod = pod, .phase = "Running", .scheduled = true, .host = "box"}));
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kSpec);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PodDifference, IsNoneForAPodThatWentToTheNodeAndBack) {
  const Pod wanted = pod_in(std::string(kSpec));
  EXPECT_EQ(difference_between(on_node(wanted), wanted), "");
  EXPECT_EQ(difference_between(on_node(wanted), pod_in(with("2000m", "2"))), "");
  EXPECT_EQ(difference_between(on_node(wanted),
                               pod_in(with("image: busybox", "image: busybox, ports: null"))),
            "");
}

TEST(PodDifference, NamesTheFirstFieldThatDiffers) {
  const Pod there = on_node(pod_in(std::string(kSpec)));
  const auto difference = [&](std::string_view from, std::string_view to) {
    return difference_between(there, pod_in(with(from, to)));
  };
  EXPECT_EQ(difference("app: shop", "app: other"), "metadata.labels");
  EXPECT_EQ(difference("hostNetwork: true", "hostNetwork: false"), "spec.hostNetwork");
  EXPECT_EQ(difference("hostNetwork: true", "restartPolicy: Never"), "spec.restartPolicy");
  EXPECT_EQ(difference("hostNetwork: true", "hostPID: true"), "spec.hostNetwork");
  EXPECT_EQ(difference(R"(["true"])", R"(["false"])"), "spec.initContainers");
  EXPECT_EQ(difference("busybox", "debian"), "spec.containers");
  EXPECT_EQ(difference("value: b", "value: c"), "spec.containers");
  EXPECT_EQ(difference("cpu: 2, memory: 1Gi}, requests: {cpu: 2000m",
                       "cpu: 3, memory: 1Gi}, requests: {cpu: 3"),
            "spec.containers");
  EXPECT_EQ(difference("name: main", "name: other"), "spec.containers");
}

}  // namespace
}  // namespace corehold
