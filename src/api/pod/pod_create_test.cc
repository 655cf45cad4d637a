// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_create.h"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/object/typed_reader.h"
#include "api/patch/strict_fields.h"

namespace corehold {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NewPod : public testing::Test {
 protected:
  // The pod, or else `refusal_` says why not.
  json::object create(std::string_view body) {
    warnings_.clear();
    refusal_ = {};
    auto object = read_object("Pod", body, FieldValidation::kStrict, warnings_);
    EXPECT_TRUE(object) << object.error().message;
    if (!object) return {};
    auto pod = prepare_new_pod(*object, {.namespace_name = "ns", .name_suffix = "x7k2p"}, rules_,
                               warnings_);
    if (pod) return pod->json();
    refusal_ = pod.error();
    return {};
  }

  // Of a pod with one container `a`, and these fields more.
  json::object with(const std::string& container, const std::string& spec = "") {
    return create(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i")" +
                  (container.empty() ? "" : "," + container) + "}]" +
                  (spec.empty() ? "" : "," + spec) + "}}");
  }

  // "field: message" of each cause.
  std::vector<std::string> causes() const {
    std::vector<std::string> all;
    for (const StatusCause& cause : refusal_.causes)
      all.push_back(cause.field + ": " + cause.message);
    return all;
  }

  PodRules rules_{};
  std::vector<std::string> warnings_{};
  ApiStatus refusal_{};
};

TEST_F(NewPod, GetsItsNamespaceANameAndNothingThatIsTheSystems) {
  const json::object pod = create(R"({"metadata":{"generateName":"job-","uid":"mine",
      "resourceVersion":"5","generation":9,"creationTimestamp":"2026-11-15T20:41:00Z"},
      "spec":{"containers":[{"name":"a","image":"i"}]},"status":{"phase":"Running"}})");
  EXPECT_EQ(json::serialize(pod.at("metadata")),
            R"({"name":"job-x7k2p","generateName":"job-","namespace":"ns"})");
  EXPECT_EQ(json::serialize(pod.at("status")), R"({"phase":"Pending","qosClass":"BestEffort"})");
}

TEST_F(NewPod, NeedsAName) {
  create(R"({"spec":{"containers":[{"name":"a","image":"i"}]}})");
  EXPECT_THAT(causes(), ElementsAre("metadata.name: Required value: name or generateName is "
                                    "required"));
  EXPECT_EQ(refusal_.message,
            "Pod \"\" is invalid: metadata.name: Required value: name or "
            "generateName is required");
}

TEST_F(NewPod, HasThePullPolicyOfItsTag) {
  const auto policy = [&](const std::string& image) {
    const json::object pod = create(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a",)"
                                    R"("image":")" +
                                    image + R"("}]}})");
    return std::string(pod.at("spec").at("containers").at(0).at("imagePullPolicy").as_string());
  };
  EXPECT_EQ(policy("app"), "Always");
  EXPECT_EQ(policy("app:latest"), "Always");
  EXPECT_EQ(policy("app:v1"), "IfNotPresent");
  EXPECT_EQ(policy("registry:5000/app"), "Always");
  EXPECT_EQ(policy("registry:5000/app:2"), "IfNotPresent");
  EXPECT_EQ(policy("app@sha256:00"), "IfNotPresent");
}

TEST_F(NewPod, GetsDefaultsInEveryPart) {
  const json::object pod = with(
      R"("ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":80}},
         "env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])",
      R"("volumes":[{"name":"e"},{"name":"h","hostPath":{"path":"/x"}},
         {"name":"d","downwardAPI":{"items":[{"path":"f","resourceFieldRef":
         {"containerName":"a","resource":"limits.cpu"}}]}}],"serviceAccountName":"s",
         "hostNetwork":true)");
  const json::value& container = pod.at("spec").at("containers").at(0);
  EXPECT_EQ(json::serialize(container.at("ports")),
            R"([{"hostPort":80,"containerPort":80,"protocol":"TCP"}])");
  EXPECT_EQ(json::serialize(container.at("livenessProbe")),
            R"({"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1,)"
            R"("periodSeconds":10,"successThreshold":1,"failureThreshold":3})");
  EXPECT_EQ(container.at("env").at(0).at("valueFrom").at("fieldRef").at("apiVersion"), "v1");
  EXPECT_EQ(
      json::serialize(pod.at("spec").at("volumes")),
      R"([{"name":"e","emptyDir":{}},{"name":"h","hostPath":{"path":"/x","type":""}},)"
      R"({"name":"d","downwardAPI":{"items":[{"path":"f","resourceFieldRef":)"
      R"({"containerName":"a","resource":"limits.cpu","divisor":"0"}}],"defaultMode":420}}])");
  EXPECT_EQ(pod.at("spec").at("serviceAccount"), "s");
}

TEST_F(NewPod, AsksForItsContainersTogetherWhereItHasALimitAsAWhole) {
  const json::object pod = with(R"("resources":{"limits":{"cpu":"2"}})",
                                R"("resources":{"limits":{"cpu":"4","memory":"2Gi"}},
      "initContainers":[{"name":"i","image":"i","resources":{"limits":{"cpu":"3"}}},
      {"name":"s","image":"i","restartPolicy":"Always","resources":{"limits":{"cpu":"500m"}}}])");
  EXPECT_EQ(json::serialize(pod.at("spec").at("resources")),
            R"({"limits":{"cpu":"4","memory":"2Gi"},"requests":{"cpu":"3","memory":"2Gi"}})");
}

TEST_F(NewPod, KeepsAPriorityThatIsGiven) {
  EXPECT_EQ(with("", R"("priority":7)").at("spec").at("priority"), 7);
  EXPECT_EQ(with("", R"("priorityClassName":"system-node-critical")").at("spec").at("priority"),
            2'000'001'000);
}

TEST_F(NewPod, IsNotTakenForThePodOfAnotherNamespace) {
  create(R"({"metadata":{"name":"p","namespace":"other"}})");
  EXPECT_EQ(http_code(refusal_), 400);
  EXPECT_EQ(
      refusal_.message,
      "the namespace of the provided object does not match the namespace sent on the request");
}

TEST_F(NewPod, NeedsNoImageWhereNoneIsUsed) {
  rules_.image_required = false;
  EXPECT_FALSE(create(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]}})").empty());
}

std::string assigned_volume(const std::string& reference) {
  return R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"f","resourceFieldRef":)" +
         reference + "}]}}]";
}

TEST_F(NewPod, MayAskForItsCpusInAFile) {
  const std::string wrong = R"({"containerName":"zzz","resource":"assigned.cpuset","divisor":"2"})";
  EXPECT_FALSE(with("", assigned_volume(wrong)).empty()) << "the gate is off: no checks";
  rules_.assigned_resources = true;
  EXPECT_FALSE(
      with("", assigned_volume(R"({"containerName":"a","resource":"assigned.memset"})")).empty());
  with("", assigned_volume(wrong));
  EXPECT_THAT(causes(),
              ElementsAre("spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Not found: "
                          "\"zzz\"",
                          "spec.volumes[0].downwardAPI.resourceFieldRef.divisor: Invalid value: "
                          "\"assigned.cpuset\": a set of numbers cannot be divided"));
  with("", assigned_volume(R"({"resource":"assigned.cpuset"})"));
  EXPECT_THAT(causes(), ElementsAre("spec.volumes[0].downwardAPI.resourceFieldRef.containerName: "
                                    "Required value"));
}

TEST_F(NewPod, MayNotAskForItsCpusInAVariable) {
  for (const bool gate : {false, true}) {
    rules_.assigned_resources = gate;
    with(R"("env":[{"name":"C","valueFrom":{"resourceFieldRef":{"resource":"assigned.cpuset"}}}])");
    ASSERT_EQ(refusal_.causes.size(), 1U);
    EXPECT_EQ(refusal_.causes[0].reason, "FieldValueInvalid");
    EXPECT_THAT(
        causes(),
        ElementsAre("spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Invalid "
                    "value: \"assigned.cpuset\": an environment variable could never "
                    "change; ask for it in a downwardAPI volume, or for both files with "
                    "the annotation corehold.dev/podinfo"));
  }
}

TEST_F(NewPod, MayAskForItsCpusByAnAnnotation) {
  const auto asking = [&](const std::string& directory, const std::string& mounts = "[]") {
    return create(fmt::format(
        R"({{"metadata":{{"name":"p","annotations":{{"corehold.dev/podinfo":"{}"}}}},"spec":{{
            "volumes":[{{"name":"v","emptyDir":{{}}}}],
            "containers":[{{"name":"a","image":"i","volumeMounts":{}}}]}}}})",
        directory, mounts));
  };
  EXPECT_FALSE(asking("/etc/podinfo").empty());
  EXPECT_FALSE(asking("/etc/podinfo", R"([{"name":"v","mountPath":"/etc"}])").empty());
  asking("/");
  EXPECT_THAT(causes(),
              ElementsAre("metadata.annotations[corehold.dev/podinfo]: Invalid value: \"/\": "
                          "\"/\" is not an absolute path below / without \".\", \"..\" and "
                          "needless slashes, such as /etc/podinfo"));
  asking("/etc/podinfo", R"([{"name":"v","mountPath":"/etc/podinfo/"}])");
  EXPECT_THAT(causes(),
              ElementsAre("metadata.annotations[corehold.dev/podinfo]: Invalid value: "
                          "\"/etc/podinfo\": container a mounts a volume on /etc/podinfo/: choose "
                          "another directory"));
}

TEST_F(NewPod, KeepsItsBindMountOptions) {
  const auto mounted = [&](const std::string& options) {
    return create(R"({"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","emptyDir":{}}],
        "containers":[{"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/x",
        "bindMountOptions":)" +
                  options + "}]}]}}");
  };
  const json::object pod = mounted(R"(["noexec","nodev","nosuid"])");
  EXPECT_EQ(json::serialize(pod.at("spec").at("containers").at(0).at("volumeMounts").at(0)),
            R"({"name":"v","mountPath":"/x","bindMountOptions":["noexec","nodev","nosuid"]})");
  EXPECT_THAT(warnings_, IsEmpty());
  mounted(R"(["noexec","ro","noexec"])");
  EXPECT_THAT(
      causes(),
      ElementsAre(
          R"(spec.containers[0].volumeMounts[0].bindMountOptions[1]: Unsupported value: "ro": )"
          R"(supported values: "nodev", "noexec", "nosuid")",
          R"(spec.containers[0].volumeMounts[0].bindMountOptions[2]: Duplicate value: "noexec")"));
}

TEST_F(NewPod, MayHaveADelayOfItsOwnWithinTheBounds) {
  const auto with_delay = [this](const std::string& delay) {
    create(R"({"metadata":{"name":"p","annotations":{"corehold.dev/scale-delay":")" + delay +
           R"("}},"spec":{"containers":[{"name":"a","image":"i"}]}})");
    return causes();
  };
  for (const char* good : {"off", "0s", "500ms", "1.5s", "10s"}) {
    EXPECT_THAT(with_delay(good), IsEmpty()) << good;
  }
  for (const char* bad : {"", "5", "-1s", "11s", "on", "soon", "0.5ms"}) {
    EXPECT_EQ(with_delay(bad).size(), 1U) << bad;
  }
  EXPECT_THAT(
      with_delay("20s"),
      ElementsAre(R"(metadata.annotations[corehold.dev/scale-delay]: Invalid value: "20s": )"
                  R"("20s" is longer than 10s; write "off" or 0s to 10s, as in "5s", )"
                  R"("500ms" or "1.5s")"));
}

TEST_F(NewPod, IsToldAllItsMistakesInTheOrderOfTheFields) {
  create(R"({"metadata":{"name":"p","annotations":{"a b":"c"}},"spec":{
      "volumes":[{"name":"v","secret":{}}],
      "containers":[{"name":"a","image":" i","ports":[{"containerPort":99999}],
      "env":[{"name":"A=B"}],"volumeMounts":[{"name":"v","mountPath":"/x"}],
      "livenessProbe":{}}],"dnsPolicy":"Odd","hostname":"A","nodeName":"n",
      "tolerations":[{"key":"k","operator":"Maybe"}]}})");
  std::vector<std::string> fields;
  for (const StatusCause& cause : refusal_.causes) fields.push_back(cause.field);
  EXPECT_THAT(
      fields,
      ElementsAre("metadata.annotations", "spec.volumes[0].secret.secretName",
                  "spec.containers[0].image", "spec.containers[0].ports[0].containerPort",
                  "spec.containers[0].env[0].name", "spec.containers[0].volumeMounts[0].name",
                  "spec.containers[0].livenessProbe", "spec.dnsPolicy", "spec.hostname",
                  "spec.tolerations[0].operator"));
}

TEST_F(NewPod, MayHaveRulesForItsRestarts) {
  const auto wrong = [this](const std::string& container) {
    with(container);
    return fmt::format("{}", fmt::join(causes(), "; "));
  };
  const std::string path = "spec.containers[0].restartPolicyRules";
  const std::string code = R"("exitCodes":{"operator":"In","values":[3]}})";
  EXPECT_EQ(wrong(R"("restartPolicyRules":[{"action":"Restart",)" + code + "]"),
            "spec.containers[0].restartPolicy: Required value: must specify restartPolicy when "
            "restart rules are used");
  const auto rules = [&](const std::string& list) {
    return wrong(R"("restartPolicy":"Never","restartPolicyRules":)" + list);
  };
  EXPECT_EQ(rules(R"([{"action":"Explode",)" + code + "]"),
            path + R"([0].action: Unsupported value: "Explode": supported values: "Restart", )"
                   R"("RestartAllContainers")");
  EXPECT_EQ(rules(R"([{"action":"Restart"}])"),
            path + "[0].exitCodes: Required value: must be specified");
  EXPECT_EQ(rules(R"([{"action":"Restart","exitCodes":{"operator":"Is","values":[3]}}])"),
            path + R"([0].exitCodes.operator: Unsupported value: "Is": supported values: "In", )"
                   R"("NotIn")");
  std::string many = "0";
  for (int i = 1; i <= 255; ++i) many += fmt::format(",{}", i);
  EXPECT_EQ(
      rules(R"([{"action":"Restart","exitCodes":{"operator":"In","values":[)" + many + "]}}]"),
      path + "[0].exitCodes.values: Too many: 256: must have at most 255 items");
  std::string list = R"([{"action":"Restart",)" + code;
  for (int i = 1; i <= 20; ++i) list += R"(,{"action":"RestartAllContainers",)" + code;
  EXPECT_EQ(rules(list + "]"), path + ": Too many: 21: must have at most 20 items");
}

TEST_F(NewPod, IsWarnedOfWhatIsHardlyMeant) {
  with(R"("env":[{"name":"A","value":"1"},{"name":"A","value":"2"}])",
       R"("terminationGracePeriodSeconds":-1)");
  EXPECT_THAT(warnings_, ElementsAre("spec.terminationGracePeriodSeconds: must be >= 0; negative "
                                     "values are invalid and will be treated as 1",
                                     "spec.containers[0].env[1]: hides previous definition of "
                                     "\"A\", which may be dropped when using apply"));
}

TEST_F(NewPod, IsToldNoMoreThanAThousandMistakes) {
  std::string body = R"({"metadata":{"name":"p"},"spec":{"containers":[{})";
  for (int i = 0; i < 2'000; ++i) body += ",{}";
  create(body + "]}}");
  EXPECT_EQ(refusal_.causes.size(), 1000U);
  EXPECT_LT(refusal_.message.size(), 200'000U);
}

TEST_F(NewPod, IsNoLongerThanAnApiServerCouldStore) {
  const auto message = [this](std::size_t length) {
    with(fmt::format(R"("workingDir":"/{}")", std::string(length, 'x')));
    return refusal_.message;
  };
  EXPECT_THAT(message(kMaxObjectBytes), HasSubstr("Request entity too large: a pod may have "));
  EXPECT_EQ(message(kMaxObjectBytes - 2000), "");
}

TEST_F(NewPod, IsRefusedForItsLengthBeforeItsMistakesAreLookedFor) {
  with(
      fmt::format(R"("restartPolicy":"no","workingDir":"/{}")", std::string(kMaxObjectBytes, 'x')));
  EXPECT_EQ(http_code(refusal_), 413) << refusal_.message.substr(0, 200);
}

TEST_F(NewPod, IsNotTooLargeForItsDefaultsEither) {
  std::string body = R"({"metadata":{"name":"p"},"spec":{"containers":[{})";
  for (int i = 0; i < 9'000; ++i) body += ",{}";
  create(body + "]}}");
  EXPECT_EQ(http_code(refusal_), 413);
}

}  // namespace
}  // namespace corehold
