// SPDX-License-Identifier: Apache-2.0
#include "pod/pod_json.h"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace corehold {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pg-0","namespace":"db","uid":"u1",)"
    R"("labels":{"app":"pg"},"finalizers":["x"]},"spec":{"nodeName":"n1","priority":100,)"
    R"("restartPolicy":"Always","initContainers":[{"name":"log","restartPolicy":"Always"},)"
    R"({"name":"setup"}],"containers":[{"image":"pg:16","name":"main","resources":{"limits":)"
    R"({"cpu":"2000m","memory":1073741824},"requests":{"cpu":2,"memory":"1Gi"},"claims":[]},)"
    R"("resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}],"tty":true}],)"
    R"("tolerations":[{"key":"a"}]},"status":{"phase":"Running","qosClass":"Guaranteed","hostIP":"::1"}})";

std::string error_of(std::string_view text) {
  const auto pods = parse_pods_json(text);
  return pods ? "" : pods.error().message;
}

Pod read(std::string_view text) {
  auto pods = parse_pods_json(text);
  EXPECT_TRUE(pods) << pods.error().message;
  return pods ? pods->at(0) : Pod();
}

TEST(PodJsonRead, FillsTheModel) {
  const Pod pod = read(kPod);
  EXPECT_EQ(display_name(pod), "db/pg-0");
  EXPECT_EQ(pod.uid, "u1");
  EXPECT_EQ(pod.labels.at("app"), "pg");
  EXPECT_EQ(pod.priority, 100);
  EXPECT_EQ(pod.init_containers.at(0).kind, Container::Kind::kSidecar);
  EXPECT_EQ(pod.init_containers.at(1).kind, Container::Kind::kInit);
  EXPECT_EQ(pod.containers.at(0).limit("cpu"), Quantity::of(2));
  EXPECT_EQ(pod.containers.at(0).limit("memory").str(), "1073741824");
  EXPECT_EQ(pod.containers.at(0).resize_policy.at("cpu"), "NotRequired");
  EXPECT_EQ(pod.phase, "Running");
}

TEST(PodJsonRead, TakesListsAsKubectlPrintsThem) {
  const std::string item(kPod);
  const auto pods = parse_pods_json(R"({"apiVersion":"v1","items":[)" + item + "," + item +
                                    R"(],"kind":"List","metadata":{"resourceVersion":""}})");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->size(), 2U);
  EXPECT_TRUE(parse_pods_json(R"({"kind":"PodList","items":null})")->empty());
}

TEST(PodJsonRead, NamesThePathOfWhatIsWrong) {
  EXPECT_EQ(error_of(R"({"spec":{"containers":[{},{"resources":{"limits":{"cpu":"1K"}}}]}})"),
            R"(spec.containers[1].resources.limits.cpu: "1K": unable to parse quantity's suffix)");
  EXPECT_EQ(error_of(R"({"kind":"List","items":[{"kind":"Service"}]})"),
            R"(items[0].kind: "Service" is not a Pod)");
  EXPECT_EQ(error_of(R"({"metadata":{"labels":{"a":true}},"spec":{}})"),
            "metadata.labels.a: must be a string; quote it if it looks like something else");
  EXPECT_EQ(error_of(R"({"spec":{"containers":{}}})"), "spec.containers: must be a list");
  EXPECT_EQ(error_of(R"({"spec":{"priority":"high"}})"), "spec.priority: must be a 32-bit integer");
  EXPECT_EQ(error_of(R"({"spec":{"restartPolicy":"Sometimes"}})"),
            R"(spec.restartPolicy: "Sometimes" is none of Always, OnFailure, Never)");
  EXPECT_EQ(error_of(R"({"kind":"Pod"})"), "spec: required");
  EXPECT_EQ(error_of("[]"), "a pod or list of pods must be an object");
}

TEST(PodJsonRead, RefusesNumbersThatJsonHasRounded) {
  EXPECT_THAT(error_of(R"({"spec":{"containers":[{"resources":{"limits":{"memory":1e300}}}]}})"),
              HasSubstr("quote it"));
  EXPECT_EQ(read(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":0.1}}}]}})")
                .containers[0]
                .limit("cpu"),
            Quantity::of_milli(100));
}

TEST(PodJsonRead, SaysWhereTheTextBreaks) {
  EXPECT_THAT(error_of("{\n  \"spec\": x}"), HasSubstr("JSON: line 2, column 1"));
  EXPECT_THAT(error_of(""), HasSubstr("JSON: line 1, column 1: "));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("JSON: line 1, column 4: "));
  EXPECT_THAT(error_of("{\"a\":\"\xff\"}"), HasSubstr("JSON: "));
}

TEST(PodJsonRead, RefusesDeepNestingAndGarbageAtOnce) {
  EXPECT_THAT(error_of(std::string(10'000'000, '[')), HasSubstr("JSON: "));
  EXPECT_THAT(error_of(std::string(10'000'000, 'x')), HasSubstr("JSON: "));
}

TEST(PodJsonWrite, GivesBackWhatWasNotChangedByteForByte) {
  EXPECT_EQ(write_json(read(kPod)), kPod);
}

TEST(PodJsonWrite, ChangesOnlyWhatTheModelChanged) {
  Pod pod = read(kPod);
  pod.containers[0].resources.limits["cpu"] = Quantity::of(4);
  pod.containers[0].resources.requests.erase("memory");
  pod.init_containers.erase(pod.init_containers.begin());
  pod.labels["tier"] = "1";
  pod.phase = "";
  const std::string text = write_json(pod);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("resources":{"limits":{"cpu":"4","memory":1073741824},"requests":{"cpu":2},"claims":[]})"));
  EXPECT_THAT(text, HasSubstr(R"("initContainers":[{"name":"setup"}])"));
  EXPECT_THAT(text, HasSubstr(R"("labels":{"app":"pg","tier":"1"},"finalizers":["x"])"));
  EXPECT_THAT(text, HasSubstr(R"("status":{"qosClass":"Guaranteed","hostIP":"::1"})"));
}

TEST(PodJsonWrite, MakesAPodOutOfNothing) {
  const Pod pod{.name = "p", .containers = {{.name = "c"}}};
  EXPECT_EQ(
      write_json(pod),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})");
}

rc::Gen<std::string> any_name() {
  return rc::gen::element<std::string>("a", "b", "c0", "main", "cpu", "x y", "\u00e9", "\"");
}

// Up to four entries; drawing distinct keys from few names would make rapidcheck give up.
rc::Gen<std::map<std::string, std::string>> any_strings(rc::Gen<std::string> values) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  return rc::gen::map(
      rc::gen::resize(4, rc::gen::container<Pairs>(rc::gen::pair(any_name(), std::move(values)))),
      [](const Pairs& pairs) {
        return std::map<std::string, std::string>(pairs.begin(), pairs.end());
      });
}

rc::Gen<ResourceList> any_list() {
  const auto amounts = [] { return rc::gen::inRange(-5, 5000); };
  return rc::gen::apply(
      [](int wanted, int cpu, int memory, int gpu) {
        ResourceList list;
        if ((wanted & 1) != 0) list.emplace("cpu", Quantity::of_milli(cpu));
        if ((wanted & 2) != 0) list.emplace("memory", Quantity::of_milli(memory));
        if ((wanted & 4) != 0) list.emplace("example.com/gpu", Quantity::of_milli(gpu));
        return list;
      },
      rc::gen::inRange(0, 8), amounts(), amounts(), amounts());
}

rc::Gen<Container> any_container(Container::Kind kind) {
  return rc::gen::apply(
      [kind](const std::string& name, const ResourceList& requests, const ResourceList& limits,
             const std::string& restart, const std::map<std::string, std::string>& resize) {
        const bool is_sidecar = kind == Container::Kind::kInit && restart == "Always";
        return Container{.name = name,
                         .kind = is_sidecar ? Container::Kind::kSidecar : kind,
                         .resources = {.requests = requests, .limits = limits},
                         .restart_policy = restart,
                         .resize_policy = resize};
      },
      any_name(), any_list(), any_list(), rc::gen::element<std::string>("", "Always", "Never"),
      any_strings(rc::gen::element<std::string>("NotRequired", "RestartContainer")));
}

Pod any_pod() {
  Pod pod;
  pod.name = *any_name();
  pod.namespace_name = *rc::gen::element<std::string>("", "db");
  pod.labels = *any_strings(any_name());
  pod.annotations = *any_strings(any_name());
  if (*rc::gen::arbitrary<bool>()) pod.priority = *rc::gen::arbitrary<std::int32_t>();
  pod.restart_policy = *rc::gen::element<std::string>("", "Always", "Never");
  pod.init_containers =
      *rc::gen::container<std::vector<Container>>(any_container(Container::Kind::kInit));
  pod.containers =
      *rc::gen::container<std::vector<Container>>(any_container(Container::Kind::kApp));
  if (*rc::gen::arbitrary<bool>()) pod.resources = Resources{*any_list(), *any_list()};
  pod.qos_class = *rc::gen::element<std::string>("", "Guaranteed");
  pod.phase = *rc::gen::element<std::string>("", "Running");
  return pod;
}

RC_GTEST_PROP(PodJsonProperty, ReadingWhatWasWrittenGivesThePod, ()) {
  const Pod pod = any_pod();
  auto again = parse_pods_json(write_json(pod));
  RC_ASSERT(again.has_value());
  RC_ASSERT(write_json(again->at(0)) == write_json(pod));
  again->at(0).raw = pod.raw;
  RC_ASSERT(again->at(0) == pod);
}

RC_GTEST_PROP(PodJsonProperty, AnyModelFitsAnyRawPodAndKeepsUnknownFields, ()) {
  Pod pod = any_pod();
  pod.raw = read(kPod).raw;
  auto again = parse_pods_json(write_json(pod));
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->at(0).raw->at("metadata").at("finalizers").at(0) == "x");
  RC_ASSERT(again->at(0).raw->at("spec").at("tolerations").at(0).at("key") == "a");
  RC_ASSERT(again->at(0).raw->at("status").at("hostIP") == "::1");
  again->at(0).raw = pod.raw;
  RC_ASSERT(again->at(0) == pod);
}

}  // namespace
}  // namespace corehold
