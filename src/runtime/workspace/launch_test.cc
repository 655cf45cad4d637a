// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/launch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Pod parse(const std::string& text) {
  auto pods = parse_pods_json(text);
  if (!pods) ADD_FAILURE() << pods.error().message << " in " << text;
  return pods ? pods->front() : Pod{};
}

// A pod whose one container has these fields besides its name, and whose spec has those.
Pod pod_with(const std::string& container, const std::string& spec = "") {
  return parse(fmt::format(
      R"json({{"metadata":{{"name":"pg-0","namespace":"db","uid":"u-1","labels":{{"tier":"gold"}},
          "annotations":{{"note":"n"}}}},
          "spec":{{"containers":[{{"name":"main"{}{}}}]{}{}}}}})json",
      container.empty() ? "" : ",", container, spec.empty() ? "" : ",", spec));
}

LaunchContext context() {
  return {.root = "/var/lib/corehold",
          .node_name = "node-1",
          .node_address = "10.0.0.1",
          .cpu_millis = 8000,
          .memory_bytes = std::int64_t{16} << 30};
}

Launch launch_of(const Pod& pod) {
  auto launch = make_launch(pod, "main", 2, context());
  EXPECT_TRUE(launch) << launch.error().message;
  return launch ? *launch : Launch{};
}

TEST(MakeLaunch, TakesCommandAndArgumentsWithVariablesPutIn) {
  const Launch launch = launch_of(
      pod_with(R"json("command":["/bin/server","--name=$(NAME)"],"args":["$(MISSING)","$$(NAME)"],
                  "env":[{"name":"NAME","value":"x"}],"workingDir":"/srv","image":"ignored:1")json"));
  EXPECT_THAT(launch.command, ElementsAre("/bin/server", "--name=x", "$(MISSING)", "$(NAME)"));
  EXPECT_EQ(launch.working_directory, "/srv");
  EXPECT_EQ(launch.container, (ContainerRef{"u-1", "main"}));
  EXPECT_EQ(launch.attempt, 2);
  EXPECT_EQ(launch.log_path, "/var/lib/corehold/logs/u-1/main/2.log");
  EXPECT_THAT(launch.manifest, HasSubstr("\"pg-0\""));
  EXPECT_FALSE(launch.user);
}

TEST(MakeLaunch, GivesLaterVariablesTheValuesOfEarlierOnes) {
  const Launch launch = launch_of(pod_with(R"json("command":["x"],"env":[
      {"name":"A","value":"1"},{"name":"B","value":"$(A)2$(C)"},{"name":"C","value":"3"}])json"));
  EXPECT_THAT(launch.environment, ElementsAre(Pair("A", "1"), Pair("B", "12$(C)"), Pair("C", "3")));
}

TEST(MakeLaunch, TakesVariablesFromThePod) {
  const Launch launch = launch_of(pod_with(R"json("command":["x"],
      "resources":{"requests":{"cpu":"1500m","memory":"1Gi"},"limits":{"cpu":"2"}},"env":[
      {"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
      {"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},
      {"name":"C","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}},
      {"name":"D","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['tier']"}}},
      {"name":"E","valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['none']"}}},
      {"name":"F","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},
      {"name":"G","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
      {"name":"H","valueFrom":{"resourceFieldRef":{"resource":"requests.cpu"}}},
      {"name":"I","valueFrom":{"resourceFieldRef":{"resource":"requests.cpu","divisor":"1m"}}},
      {"name":"J","valueFrom":{"resourceFieldRef":{"resource":"requests.memory","divisor":"1Mi"}}},
      {"name":"K","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Gi"}}},
      {"name":"L","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","containerName":"main"}}}
      ])json"));
  EXPECT_THAT(launch.environment,
              ElementsAre(Pair("A", "pg-0"), Pair("B", "db"), Pair("C", "u-1"), Pair("D", "gold"),
                          Pair("E", ""), Pair("F", "node-1"), Pair("G", "10.0.0.1"), Pair("H", "2"),
                          Pair("I", "1500"), Pair("J", "1024"), Pair("K", "16"), Pair("L", "2")));
}

TEST(MakeLaunch, TakesTheContainersUserBeforeThePods) {
  const Launch launch = launch_of(pod_with(
      R"json("command":["x"],"securityContext":{"runAsUser":7,"allowPrivilegeEscalation":false})json",
      R"json("securityContext":{"runAsUser":1,"runAsGroup":2,"fsGroup":3,
                   "supplementalGroups":[4,5]})json"));
  EXPECT_EQ(launch.user, 7U);
  EXPECT_EQ(launch.group, 2U);
  EXPECT_THAT(launch.groups, ElementsAre(4U, 5U, 3U));
  EXPECT_TRUE(launch.no_new_privileges);
}

TEST(MakeLaunch, MountsVolumesWhereTheyAreAskedFor) {
  const Launch launch = launch_of(pod_with(
      R"json("command":["x"],"env":[{"name":"DAY","value":"mon"}],"volumeMounts":[
         {"name":"h","mountPath":"/data/","readOnly":true,"subPath":"a/b"},
         {"name":"e","mountPath":"/cache","subPathExpr":"$(DAY)"},{"name":"i","mountPath":"/info"}])json",
      R"json("volumes":[{"name":"h","hostPath":{"path":"/srv/data"}},{"name":"e","emptyDir":{}},
         {"name":"i","downwardAPI":{"items":[]}}])json"));
  EXPECT_THAT(
      launch.mounts,
      ElementsAre(
          Mount{.source = "/srv/data", .target = "/data", .read_only = true, .sub_path = "a/b"},
          Mount{.source = "/var/lib/corehold/volumes/u-1/e",
                .target = "/cache",
                .sub_path = "mon",
                .may_create = true},
          Mount{
              .source = "/var/lib/corehold/podinfo/u-1/i", .target = "/info", .read_only = true}));
  EXPECT_THAT(launch.host_paths,
              ElementsAre(HostPath{
                  .volume = "h of pod db/pg-0", .path = "/srv/data", .root = "/var/lib/corehold"}));
}

TEST(MakeLaunch, NamesTheContainerThatIsNotThere) {
  const auto launch = make_launch(pod_with(R"json("command":["x"])json"), "other", 0, context());
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().code, Code::kNotFound);
  EXPECT_EQ(launch.error().message, "pod db/pg-0 has no container other");
}

TEST(PodMistakes, AreNoneInAPodThatCanBeStarted) {
  EXPECT_THAT(mistakes_of(pod_with(R"json("command":["x"])json")), IsEmpty());
}

TEST(PodMistakes, IncludeAMissingCommand) {
  EXPECT_THAT(mistakes_of(pod_with(R"json("args":["x"],"image":"nginx")json")),
              ElementsAre("spec.containers[0].command: required: a container is a program of this "
                          "machine, its image is not used"));
}

TEST(PodMistakes, AreFoundInInitContainersToo) {
  EXPECT_THAT(mistakes_of(parse(R"json({"metadata":{"name":"p"},"spec":{
      "initContainers":[{"name":"i"}],"containers":[{"name":"c","command":["x"]}]}})json")),
              ElementsAre(HasSubstr("spec.initContainers[0].command: required")));
}

TEST(PodMistakes, IncludeVolumesOfOtherKinds) {
  EXPECT_THAT(
      mistakes_of(pod_with(R"json("command":["x"])json", R"json("volumes":[
          {"name":"a","configMap":{"name":"c"}},{"name":"b","secret":{"secretName":"s"}},
          {"name":"c","persistentVolumeClaim":{"claimName":"p"}},{"name":"d","projected":{}}])json")),
      ElementsAre("spec.volumes[0].configMap: not supported; hostPath, emptyDir and downwardAPI "
                  "volumes are",
                  HasSubstr("spec.volumes[1].secret: not supported"),
                  HasSubstr("spec.volumes[2].persistentVolumeClaim: not supported"),
                  HasSubstr("spec.volumes[3].projected: not supported")));
}

TEST(PodMistakes, IncludeVariablesFromElsewhere) {
  EXPECT_THAT(
      mistakes_of(pod_with(R"json("command":["x"],"envFrom":[{"configMapRef":{"name":"c"}}],"env":[
          {"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},
          {"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels"}}},
          {"name":"C=","value":"x"},
          {"name":"D","valueFrom":{"resourceFieldRef":{"resource":"limits.gpu"}}}])json")),
      ElementsAre(
          HasSubstr("spec.containers[0].envFrom: not supported"),
          HasSubstr("spec.containers[0].env[0].valueFrom.secretKeyRef: not supported"),
          "spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: metadata.labels needs a key: "
          "metadata.labels['KEY']",
          HasSubstr("spec.containers[0].env[2].name: \"C=\" cannot be"),
          HasSubstr("env[3].valueFrom.resourceFieldRef.resource: \"limits.gpu\" is not")));
}

TEST(PodMistakes, IncludeAssignedCpusInTheEnvironment) {
  EXPECT_THAT(mistakes_of(pod_with(R"json("command":["x"],"env":[{"name":"A","valueFrom":
                  {"resourceFieldRef":{"resource":"assigned.cpuset"}}}])json")),
              ElementsAre("spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: "
                          "assigned.cpuset cannot be in the environment, where it could never "
                          "change: ask for it in a downwardAPI volume"));
}

TEST(PodMistakes, IncludeControlCharactersInWhatNamesFiles) {
  EXPECT_THAT(
      mistakes_of(pod_with(
          R"json("command":["x"],"workingDir":"/a\u0000b","volumeMounts":[
             {"name":"v","mountPath":"/a\u0000b"},{"name":"v","mountPath":"/c","subPath":"d\ne"},
             {"name":"v","mountPath":"/f","subPathExpr":"g\u007f"}])json",
          R"json("volumes":[{"name":"v","emptyDir":{}},{"name":"a\u0000","emptyDir":{}},
             {"name":"h","hostPath":{"path":"/etc/x\u0000y"}},
             {"name":"d","downwardAPI":{"items":[{"path":"a\tb",
                "fieldRef":{"fieldPath":"metadata.name"}}]}}])json")),
      ElementsAre("spec.volumes[1].name: must not hold control characters",
                  "spec.volumes[2].hostPath.path: must not hold control characters",
                  "spec.volumes[3].downwardAPI.items[0].path: must not hold control characters",
                  "spec.containers[0].workingDir: must not hold control characters",
                  "spec.containers[0].volumeMounts[0].mountPath: must not hold control characters",
                  "spec.containers[0].volumeMounts[1].subPath: must not hold control characters",
                  "spec.containers[0].volumeMounts[2].subPathExpr: must not hold control "
                  "characters"));
}

TEST(MakeLaunch, RefusesAPathOrVariableThatAValueOfThePodBreaks) {
  const auto pod = [](const std::string& note) {
    return parse(fmt::format(
        R"json({{"metadata":{{"name":"p","uid":"u","annotations":{{"note":"{}"}}}},"spec":{{
            "containers":[{{"name":"main","command":["x"],"env":[{{"name":"NOTE","valueFrom":
              {{"fieldRef":{{"fieldPath":"metadata.annotations['note']"}}}}}}],
              "volumeMounts":[{{"name":"v","mountPath":"/a","subPathExpr":"$(NOTE)"}}]}}],
            "volumes":[{{"name":"v","emptyDir":{{}}}}]}}}})json",
        note));
  };
  EXPECT_TRUE(make_launch(pod("fine"), "main", 0, context()));
  EXPECT_THAT(make_launch(pod("a\\nb"), "main", 0, context()).error().message,
              HasSubstr("subPathExpr of /a gives \"a\\nb\", with control characters"));
  EXPECT_EQ(make_launch(pod("a\\u0000b"), "main", 0, context()).error().message,
            "variable \"NOTE\" would hold a zero byte");
}

TEST(PodMistakes, IncludeMountsThatCannotBe) {
  EXPECT_THAT(
      mistakes_of(pod_with(
          R"json("command":["x"],"volumeMounts":[{"name":"none","mountPath":"/a"},
             {"name":"v","mountPath":"relative"},{"name":"v","mountPath":"/a/../b"},
             {"name":"v","mountPath":"/"},{"name":"v","mountPath":"/a"},
             {"name":"v","mountPath":"/c","subPath":"../x"}])json",
          R"json("volumes":[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{"medium":"HugePages"}},
             {"name":"h","hostPath":{"path":"x","type":"Blob"}}])json")),
      ElementsAre(HasSubstr("spec.volumes[1].name: duplicate volume name \"v\""),
                  HasSubstr("spec.volumes[1].emptyDir.medium: \"HugePages\" is not supported"),
                  HasSubstr("spec.volumes[2].hostPath.path: \"x\" is not an absolute path"),
                  HasSubstr("spec.volumes[2].hostPath.type: \"Blob\" is none of"),
                  HasSubstr("volumeMounts[0].name: the pod has no volume \"none\""),
                  HasSubstr("volumeMounts[1].mountPath: \"relative\" is not an absolute"),
                  HasSubstr("volumeMounts[2].mountPath: \"/a/../b\" is not an absolute"),
                  HasSubstr("volumeMounts[3].mountPath: \"/\" is not an absolute"),
                  HasSubstr("volumeMounts[4].mountPath: \"/a\" is taken already"),
                  HasSubstr("volumeMounts[5].subPath: \"../x\" is not a relative")));
}

TEST(PodMistakes, IncludePodinfoThatCannotBe) {
  EXPECT_THAT(
      mistakes_of(pod_with(R"json("command":["x"])json",
                           R"json("volumes":[{"name":"i","downwardAPI":{"items":[
          {"path":"../up","fieldRef":{"fieldPath":"metadata.name"}},
          {"path":"a","fieldRef":{"fieldPath":"status.podIP"}},
          {"path":"a","resourceFieldRef":{"resource":"limits.cpu"}},
          {"path":"b","resourceFieldRef":{"containerName":"x","resource":"limits.cpu"}},
          {"path":"c"}]}}])json")),
      ElementsAre(HasSubstr("items[0].path: \"../up\" is not a relative path"),
                  HasSubstr("items[1].fieldRef.fieldPath: status.podIP cannot be in a volume"),
                  HasSubstr("items[2].path: duplicate path \"a\""),
                  HasSubstr("items[2].resourceFieldRef.containerName: required"),
                  HasSubstr("items[3].resourceFieldRef.containerName: the pod has no container"),
                  HasSubstr("items[4]: needs one of fieldRef and resourceFieldRef")));
}

TEST(PodMistakes, IncludePodinfoFilesThatAreInEachOthersWay) {
  const auto mistakes = [](const std::vector<std::string>& paths) {
    std::string items;
    for (const std::string& path : paths) {
      items +=
          fmt::format(R"json({}{{"path":"{}","fieldRef":{{"fieldPath":"metadata.name"}}}})json",
                      items.empty() ? "" : ",", path);
    }
    return mistakes_of(
        pod_with(R"json("command":["x"])json",
                 fmt::format(R"json("volumes":[{{"name":"i","downwardAPI":{{"items":[{}]}}}}])json",
                             items)));
  };
  EXPECT_THAT(mistakes({"a/b", "a/c", "ab", "a-b", "b/a"}), testing::IsEmpty());
  EXPECT_THAT(mistakes({"a", "a/b"}), ElementsAre(HasSubstr("items[1].path: \"a/b\" and \"a\" "
                                                            "cannot both be files: one would be a "
                                                            "directory")));
  EXPECT_THAT(mistakes({"a/b/c", "a-", "a"}), ElementsAre(HasSubstr("\"a\" and \"a/b/c\"")));
  EXPECT_THAT(mistakes({"a//b", "a/b"}), ElementsAre(HasSubstr("duplicate path \"a/b\"")));
  EXPECT_THAT(mistakes({"a/b", "./a/./b"}), ElementsAre(HasSubstr("duplicate path")));
  for (const char* path : {".", "./", "./..data", "a/"}) {
    EXPECT_THAT(mistakes({path}), ElementsAre(HasSubstr("is not a relative path"))) << path;
  }
  EXPECT_THAT(mistakes({std::string(255, 'a') + "/b"}), testing::IsEmpty());
  EXPECT_THAT(mistakes({"b/" + std::string(256, 'a')}),
              ElementsAre(HasSubstr("has a part of more than 255 bytes")));
}

TEST(PodMistakes, IncludeIsolationThatAProcessDoesNotHave) {
  EXPECT_THAT(
      mistakes_of(pod_with(R"json("command":["x"],"securityContext":{"readOnlyRootFilesystem":true,
          "capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"},
          "runAsNonRoot":true})json")),
      ElementsAre(HasSubstr("securityContext.runAsUser: runAsNonRoot needs a user other than 0"),
                  HasSubstr("securityContext.seccompProfile: \"RuntimeDefault\" is not supported"),
                  HasSubstr("securityContext.readOnlyRootFilesystem: not supported"),
                  HasSubstr("securityContext.capabilities: not supported")));
}

TEST(PodMistakes, IncludeFieldsOfAnotherType) {
  EXPECT_THAT(mistakes_of(pod_with(R"json("command":"x","args":[1],"env":[1],"volumeMounts":{},
                  "workingDir":"x","securityContext":{"runAsUser":-1})json")),
              ElementsAre(HasSubstr("spec.containers[0].command: "),
                          HasSubstr("spec.containers[0].args[0]: must be a string"),
                          HasSubstr("spec.containers[0].command: required"),
                          HasSubstr("spec.containers[0].workingDir: must be an absolute path"),
                          HasSubstr("spec.containers[0].env[0]: must be an object"),
                          HasSubstr("spec.containers[0].volumeMounts: "),
                          HasSubstr("spec.containers[0].securityContext.runAsUser: must be a")));
}

// `count` variables with this value each, after one with `first` bytes that is called a0.
std::string variables(std::size_t first, int count, const std::string& value) {
  std::string text =
      fmt::format(R"json({{"name":"a0","value":"{}"}})json", std::string(first, 'x'));
  for (int i = 1; i <= count; ++i) {
    text += fmt::format(R"json(,{{"name":"a{}",{}}})json", i, value);
  }
  return text;
}

TEST(PodMistakes, IncludeAnEnvironmentThatGrowsBeyondWhatTheKernelTakes) {
  const std::string twice = R"json("value":"$(a0)")json";
  const Pod pod = pod_with(
      fmt::format(R"json("command":["x"],"env":[{}])json", variables(100'000, 9'900, twice)));
  EXPECT_THAT(mistakes_of(pod),
              ElementsAre("spec.containers[0]: its command and environment would have more than "
                          "the 2097152 bytes that the kernel takes, with their variables put in; "
                          "keep data in files and name them"));
  const auto launch = make_launch(pod, "main", 0, context());
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().code, Code::kInvalid);
  EXPECT_THAT(launch.error().message,
              HasSubstr("pod db/pg-0: container main: its command and environment would have"));
  const Pod fine =
      pod_with(fmt::format(R"json("command":["x"],"env":[{}])json", variables(100'000, 19, twice)));
  EXPECT_THAT(mistakes_of(fine), IsEmpty());
  EXPECT_TRUE(make_launch(fine, "main", 0, context()));
}

TEST(PodMistakes, CountAnnotationsThatManyVariablesTake) {
  Pod pod = pod_with(fmt::format(
      R"json("command":["x"],"env":[{}])json",
      variables(
          1, 30,
          R"json("valueFrom":{"fieldRef":{"fieldPath":"metadata.annotations['note']"}})json")));
  EXPECT_THAT(mistakes_of(pod), IsEmpty());
  pod.annotations["note"] = std::string(100'000, 'x');
  EXPECT_THAT(mistakes_of(pod), ElementsAre(HasSubstr("would have more than the 2097152 bytes")));
  EXPECT_FALSE(make_launch(pod, "main", 0, context()));
  pod.annotations["note"] = std::string(200'000, 'x');
  EXPECT_THAT(mistakes_of(pod),
              ElementsAre("spec.containers[0]: variable \"a1\" would have 200003 bytes; the kernel "
                          "takes 131071 in one string"));
}

TEST(PodMistakes, CountTheWordsOfTheCommandAndOfAllContainers) {
  const std::string environment = fmt::format(R"json("env":[{}])json", variables(100'000, 0, ""));
  const auto container = [&](const char* name, int words) {
    std::string command = R"json("x")json";
    for (int i = 0; i < words; ++i) command += R"json(,"$(a0)")json";
    return fmt::format(R"json({{"name":"{}","command":[{}],{}}})json", name, command, environment);
  };
  const auto pod = [](const std::string& inits, const std::string& containers) {
    return parse(fmt::format(
        R"json({{"metadata":{{"name":"p"}},"spec":{{"initContainers":[{}],"containers":[{}]}}}})json",
        inits, containers));
  };
  EXPECT_THAT(mistakes_of(pod(container("i", 15), container("a", 15))), IsEmpty());
  EXPECT_THAT(mistakes_of(pod(container("i", 21), container("a", 1))),
              ElementsAre(HasSubstr("spec.initContainers[0]: its command and environment")));
  EXPECT_THAT(
      mistakes_of(pod(container("i", 15), container("a", 15) + "," + container("b", 15))),
      ElementsAre("spec.containers: commands and environments of all containers would have "
                  "more than 4194304 bytes, with their variables put in; keep data in files "
                  "and name them"));
}

TEST(PodMistakes, IncludeASubPathThatNoFileSystemTakes) {
  const Pod pod = pod_with(fmt::format(R"json("command":["x"],"env":[{}],"volumeMounts":[
          {{"name":"v","mountPath":"/v","subPathExpr":"$(a0)"}}])json",
                                       variables(5'000, 0, "")),
                           R"json("volumes":[{"name":"v","emptyDir":{}}])json");
  EXPECT_THAT(mistakes_of(pod),
              ElementsAre("spec.containers[0]: subPathExpr of \"/v\" gives a path of 5000 bytes; "
                          "one may have 4095"));
}

TEST(PodMistakes, CountTheFilesOfDownwardApiVolumes) {
  std::string items;
  for (int i = 0; i < 100; ++i) {
    items += fmt::format(
        R"json({}{{"path":"f{}","fieldRef":{{"fieldPath":"metadata.annotations"}}}})json",
        i == 0 ? "" : ",", i);
  }
  Pod pod = pod_with(
      R"json("command":["x"])json",
      fmt::format(R"json("volumes":[{{"name":"v","downwardAPI":{{"items":[{}]}}}}])json", items));
  EXPECT_THAT(mistakes_of(pod), IsEmpty());
  pod.annotations["note"] = std::string(100'000, 'x');
  EXPECT_THAT(
      mistakes_of(pod),
      ElementsAre(HasSubstr("spec.volumes: the files of the pod's downwardAPI volumes would "
                            "have more than 8388608 bytes")));
}

TEST(PodMistakes, TellOfEachMountOnceAndCountThoseAfterAHundred) {
  std::string mounts;
  for (int i = 0; i < 2'400; ++i) {
    mounts += fmt::format(R"json({}{{"name":"v","mountPath":"/a{}"}})json", i == 0 ? "" : ",",
                          std::string(static_cast<std::size_t>(i), '/'));
  }
  const auto mistakes =
      mistakes_of(pod_with(fmt::format(R"json("command":["x"],"volumeMounts":[{}])json", mounts),
                           R"json("volumes":[{"name":"v","emptyDir":{}}])json"));
  ASSERT_EQ(mistakes.size(), 101U);
  EXPECT_EQ(mistakes[0], "spec.containers[0].volumeMounts[1].mountPath: \"/a\" is taken already");
  EXPECT_EQ(mistakes[100], "and 2299 more");
}

TEST(PodMistakes, FindFilesInTheWayWhateverTheirNamesAre) {
  const auto mistakes = [](const std::vector<std::string>& paths) {
    std::string items;
    for (const std::string& path : paths) {
      items +=
          fmt::format(R"json({}{{"path":"{}","fieldRef":{{"fieldPath":"metadata.name"}}}})json",
                      items.empty() ? "" : ",", path);
    }
    return mistakes_of(
        pod_with(R"json("command":["x"])json",
                 fmt::format(R"json("volumes":[{{"name":"v","downwardAPI":{{"items":[{}]}}}}])json",
                             items)));
  };
  EXPECT_THAT(mistakes({"a", "a-b", "a.c", "ab/c", "b"}), IsEmpty());
  EXPECT_THAT(mistakes({"a", "a-b", "a.c", "a/b"}), ElementsAre(HasSubstr("\"a/b\" and \"a\"")));
  EXPECT_THAT(mistakes({"a/b/c", "a-b", "a"}), ElementsAre(HasSubstr("\"a\" and \"a/b/c\"")));
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "a/";
  EXPECT_THAT(mistakes({deep + "b", deep + "c"}), IsEmpty());  // with each directory: minutes
}

}  // namespace
}  // namespace corehold
