// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_acceptance.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kPod = R"({"metadata":{"name":"p"},"spec":{"containers":[
    {"name":"a","image":"i","resources":{"limits":{"cpu":"1e40"}}}]}})";

class PodAcceptance : public testing::Test {
 protected:
  PodAcceptance() {
    rules_.node = NodeRules{.name = "here", .unrunnable = [this](const Pod& pod) {
                              EXPECT_FALSE(pod.raw->empty());
                              ++asked_;
                              return unrunnable_;
                            }};
  }

  // "field: what is wrong" of each cause.
  std::vector<std::string> mistakes(std::string_view body, std::string_view where = "default") {
    std::vector<std::string> warnings;
    auto object = read_object("Pod", body, FieldValidation::kStrict, warnings);
    EXPECT_TRUE(object) << object.error().message;
    const auto pod =
        prepare_new_pod(*std::move(object), {.namespace_name = where}, rules_, warnings);
    if (pod) return {};
    message_ = pod.error().message;
    std::vector<std::string> told;
    for (const StatusCause& cause : pod.error().causes) {
      told.push_back(cause.field + ": " + cause.message);
    }
    return told;
  }

  PodRules rules_;
  std::vector<std::string> unrunnable_;
  int asked_ = 0;
  std::string message_;
};

TEST_F(PodAcceptance, NamesEverythingThatTheNodeCannotDo) {
  unrunnable_ = {"spec.containers[0].command: required", "spec.volumes[0]: not supported"};
  EXPECT_THAT(
      mistakes(R"({"metadata":{"name":"p"},"spec":{"nodeName":"there","containers":[
          {"name":"a","image":"i","resources":{"limits":{"cpu":"1e40"}}}]}})",
               "a.b"),
      ElementsAre("metadata.namespace: \"a.b\" is no name of a namespace",
                  "spec.nodeName: this is the API of node \"here\" alone",
                  "spec: pod a.b/p: spec.containers[0].resources.limits.cpu: 10e39 CPUs do not fit "
                  "64 bits; spec.containers[0].resources.requests.cpu: 10e39 CPUs do not fit 64 "
                  "bits; spec.containers[0].command: required; spec.volumes[0]: not supported"));
}

TEST_F(PodAcceptance, TellsOneMistakeWithoutAList) {
  unrunnable_ = {"spec.containers[0].command: required"};
  mistakes(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i"}]}})");
  EXPECT_EQ(message_,
            "Pod \"p\" is invalid: spec: pod default/p: spec.containers[0].command: required");
}

TEST_F(PodAcceptance, LeavesTheRefusalsOfKubernetesInItsWordsAlone) {
  unrunnable_ = {"spec.containers[0].command: required"};
  EXPECT_THAT(mistakes(R"({"metadata":{"name":"P"},"spec":{"nodeName":"there","containers":[
      {"name":"a","image":"i"}]}})"),
              ElementsAre(testing::StartsWith("metadata.name: Invalid value: \"P\"")));
  EXPECT_EQ(asked_, 0);
}

TEST_F(PodAcceptance, AsksThePodOfAnyNodeForKubernetesRulesOnly) {
  rules_.node.reset();
  EXPECT_THAT(mistakes(kPod), IsEmpty());
}

TEST_F(PodAcceptance, RefusesAPodOfMoreContainersThanTheNodeRunsInOne) {
  const auto pod_of = [](std::size_t count) {
    std::string containers;
    for (std::size_t i = 1; i < count; ++i) {
      containers += fmt::format(R"({}{{"name":"c{}","image":"i"}})", i == 1 ? "" : ",", i);
    }
    return fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{{"initContainers":[
        {{"name":"first","image":"i"}}],"containers":[{}]}}}})",
                       containers);
  };
  EXPECT_THAT(mistakes(pod_of(256)), IsEmpty());
  EXPECT_THAT(mistakes(pod_of(257)),
              ElementsAre("spec: pod default/p: spec.containers: 257 containers, init containers "
                          "included, are more than the 256 that this node runs in a pod; make "
                          "several pods"));
}

TEST_F(PodAcceptance, OfARunnablePodIsEmpty) {
  EXPECT_THAT(mistakes(R"({"metadata":{"name":"p"},"spec":{"nodeName":"here","containers":[
      {"name":"a","image":"i"}]}})"),
              IsEmpty());
  EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace corehold
