// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/pod_fields.h"

#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "runtime/workspace/launch.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Pod pod_of(const std::string& metadata, const std::string& spec, const std::string& container) {
  const std::string text = fmt::format(
      R"json({{"metadata":{{"name":"p","uid":"u"{}}},"spec":{{"containers":[
               {{"name":"c","command":["x"]{}}}]{}}}}})json",
      metadata, container, spec);
  auto pod = pod_from_json(boost::json::parse(text).as_object());
  EXPECT_TRUE(pod) << pod.error().message;
  return pod ? *pod : Pod{};
}

std::vector<std::string> with_spec(const std::string& fields) {
  return unrunnable_of(pod_of("", "," + fields, ""));
}
std::vector<std::string> with_container(const std::string& fields) {
  return unrunnable_of(pod_of("", "", "," + fields));
}

TEST(UnsupportedFields, OfAPodSpecAreRefusedByNameWithWhatToDo) {
  EXPECT_THAT(
      with_spec(R"("hostUsers":false)"),
      ElementsAre("spec.hostUsers: not supported: a container has the users of the machine, "
                  "root included; leave the field out and set securityContext.runAsUser"));
  EXPECT_THAT(with_spec(R"("activeDeadlineSeconds":60)"),
              ElementsAre("spec.activeDeadlineSeconds: not supported: nothing would end the pod; "
                          "limit the time in the command, as in [timeout, 60s, PROGRAM]"));
  for (const char* field :
       {R"("runtimeClassName":"gvisor")", R"("hostAliases":[{"ip":"1.2.3.4"}])",
        R"("dnsConfig":{"nameservers":["1.1.1.1"]})", R"("overhead":{"cpu":"1"})",
        R"("schedulingGates":[{"name":"x"}])", R"("readinessGates":[{"conditionType":"x"}])",
        R"("resourceClaims":[{"name":"x"}])", R"("os":{"name":"windows"})",
        R"("resources":{"limits":{"cpu":"1"}})"}) {
    EXPECT_THAT(with_spec(field), ElementsAre(HasSubstr(": not supported: "))) << field;
  }
}

TEST(UnsupportedFields, OfSecurityAreRefusedForThePodAndForAContainer) {
  for (const char* field :
       {R"("appArmorProfile":{"type":"RuntimeDefault"})",
        R"("appArmorProfile":{"type":"Localhost","localhostProfile":"x"})",
        R"("seLinuxOptions":{"level":"s0:c1"})", R"("windowsOptions":{"runAsUserName":"x"})",
        R"("seccompProfile":{"type":"RuntimeDefault"})"}) {
    const std::string context = fmt::format(R"("securityContext":{{{}}})", field);
    EXPECT_THAT(with_spec(context), Not(IsEmpty())) << field;
    EXPECT_THAT(with_container(context), Not(IsEmpty())) << field;
  }
  EXPECT_THAT(with_spec(R"("securityContext":{"sysctls":[{"name":"a","value":"1"}]})"),
              ElementsAre("spec.securityContext.sysctls: not supported: they would be set for the "
                          "whole machine; set them there"));
  EXPECT_THAT(with_container(R"("securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}})"),
              ElementsAre("spec.containers[0].securityContext.appArmorProfile.type: not supported: "
                          "a container is a process of the machine; leave the field out"));
}

TEST(UnsupportedFields, IncludeTheOldAnnotationOfAppArmor) {
  const auto of = [](const std::string& profile) {
    return unrunnable_of(pod_of(
        fmt::format(R"(,"annotations":{{"container.apparmor.security.beta.kubernetes.io/c":"{}"}})",
                    profile),
        "", ""));
  };
  EXPECT_THAT(of("runtime/default"), ElementsAre(HasSubstr("apparmor")));
  EXPECT_THAT(of("unconfined"), IsEmpty());
}

TEST(UnsupportedFields, IncludeSizesOnDisk) {
  const auto volume = [](const std::string& fields) {
    return with_spec(fmt::format(R"("volumes":[{{"name":"v","emptyDir":{{{}}}}}])", fields));
  };
  EXPECT_THAT(volume(R"("sizeLimit":"1Mi")"),
              ElementsAre("spec.volumes[0].emptyDir.sizeLimit: not supported: nothing keeps a "
                          "directory on disk below a size; use medium: Memory, or leave the field "
                          "out"));
  EXPECT_THAT(volume(R"("sizeLimit":"1Mi","medium":"Memory")"), IsEmpty());
  EXPECT_THAT(volume(R"("sizeLimit":"0")"), IsEmpty());
  EXPECT_THAT(with_container(R"("resources":{"limits":{"ephemeral-storage":"1Gi"}})"),
              ElementsAre(HasSubstr("resources.limits.ephemeral-storage: not supported: ")));
}

TEST(UnsupportedFields, OfAContainerAreRefusedInInitContainersToo) {
  EXPECT_THAT(with_container(R"("lifecycle":{"preStop":{"exec":{"command":["x"]}}})"),
              ElementsAre(HasSubstr("spec.containers[0].lifecycle.preStop: not supported: ")));
  EXPECT_THAT(with_spec(R"("volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"i",
          "command":["x"],"volumeMounts":[{"name":"v","mountPath":"/v",
          "bindMountOptions":["noexec"]}]}])"),
              ElementsAre(HasSubstr(
                  "spec.initContainers[0].volumeMounts[0].bindMountOptions: not supported: ")));
}

TEST(UnsupportedFields, AreToldOnceWhereTheSpecCannotBeRunAnyway) {
  EXPECT_THAT(with_container(R"("envFrom":[{"secretRef":{"name":"s"}}],"securityContext":{
                  "capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,
                  "seccompProfile":{"type":"RuntimeDefault"}})"),
              testing::SizeIs(4));
}

// As `kubectl run`, `kubectl create deployment` and an API server's defaults write it.
TEST(UnsupportedFields, AreNoneInAnOrdinaryManifest) {
  EXPECT_THAT(
      unrunnable_of(pod_of(
          "",
          R"(,"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
             "securityContext":{},"schedulerName":"default-scheduler","enableServiceLinks":true,
             "serviceAccountName":"default","serviceAccount":"default","priority":0,
             "preemptionPolicy":"PreemptLowerPriority","hostUsers":true,"os":{"name":"linux"},
             "hostNetwork":false,"nodeSelector":{"a":"b"},"affinity":{"nodeAffinity":{}},
             "tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute"}],
             "imagePullSecrets":[{"name":"x"}],"hostAliases":[],"schedulingGates":[])",
          R"(,"image":"nginx","imagePullPolicy":"Always","ports":[{"containerPort":80}],
             "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
             "livenessProbe":{"tcpSocket":{"port":80}},"stdin":true,"tty":true,"lifecycle":{},
             "resources":{"limits":{"cpu":"1","memory":"1Gi"}},
             "securityContext":{"allowPrivilegeEscalation":false,"privileged":false,
                "procMount":"Default","readOnlyRootFilesystem":false,
                "appArmorProfile":{"type":"Unconfined"},"seccompProfile":{"type":"Unconfined"}})")),
      IsEmpty());
}

// What was accepted by an earlier version goes on.
TEST(UnsupportedFields, DoNotKeepAPodFromStarting) {
  const Pod pod = pod_of("", R"(,"hostUsers":false,"activeDeadlineSeconds":5)", "");
  EXPECT_TRUE(make_launch(pod, "c", 0, {.root = "/r"}));
}

}  // namespace
}  // namespace corehold
