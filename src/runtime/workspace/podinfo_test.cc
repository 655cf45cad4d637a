// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/podinfo.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "runtime/workspace/pod_files.h"
#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class PodInfo : public testing::Test {
 protected:
  PodInfo() {
    std::string pattern = testing::TempDir() + "podinfo-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    context_.root = pattern;
    volume_ = podinfo_path(context_.root, "u", "info");
  }
  ~PodInfo() override { static_cast<void>(remove_tree(context_.root)); }

  static Pod pod_with(const std::string& items, const std::string& labels = "{}") {
    auto pods = parse_pods_json(fmt::format(
        R"({{"metadata":{{"name":"p","uid":"u","labels":{}}},"spec":{{"containers":[
            {{"name":"main","command":["x"],"resources":{{"limits":{{"cpu":"2","memory":"3Mi"}}}}}}],
            "volumes":[{{"name":"info","downwardAPI":{{"items":{}}}}}]}}}})",
        labels, items));
    CHECK(pods.has_value());
    EXPECT_THAT(mistakes_of(pods->front()), testing::IsEmpty());
    return pods->front();
  }
  static std::string assigned(const std::string& kind) {
    return fmt::format(
        R"({{"path":"{0}","resourceFieldRef":{{"containerName":"main","resource":"assigned.{0}"}}}})",
        kind);
  }

  std::string read(const std::string& path) const {
    const auto text = read_file(volume_ + "/" + path, 65536);
    return text ? *text : text.error().message;
  }
  unsigned mode_of(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::stat((volume_ + "/" + path).c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }
  std::string generation() const {
    std::array<char, 256> target{};
    const ssize_t length = ::readlink((volume_ + "/..data").c_str(), target.data(), target.size());
    return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
  }

  LaunchContext context_{.node_name = "n"};
  std::string volume_{};
};

TEST_F(PodInfo, SaysWhatIsAssignedAsTheKernelWritesLists) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "," + assigned("memset") + "]");
  ASSERT_TRUE(write_podinfo(
      pod, {{"main", {.cpus = *CpuSet::parse("2-5,8"), .mems = *NodeSet::parse("0")}}}, context_));
  EXPECT_EQ(read("cpuset"), "2-5,8");
  EXPECT_EQ(read("memset"), "0");
}

TEST_F(PodInfo, IsEmptyForWhoHasNoCpusOfItsOwn) {
  ASSERT_TRUE(write_podinfo(pod_with("[" + assigned("cpuset") + "]"), {}, context_));
  EXPECT_EQ(read("cpuset"), "");
}

TEST_F(PodInfo, SaysWhatThePodSays) {
  const Pod pod = pod_with(R"([
      {"path":"name","fieldRef":{"fieldPath":"metadata.name"}},
      {"path":"deep/er/labels","fieldRef":{"fieldPath":"metadata.labels"}},
      {"path":"deep/label","fieldRef":{"fieldPath":"metadata.labels['b']"}},
      {"path":"cpu","resourceFieldRef":{"containerName":"main","resource":"limits.cpu",
       "divisor":"1m"}},
      {"path":"memory","resourceFieldRef":{"containerName":"main","resource":"limits.memory",
       "divisor":"2Mi"}}])",
                           R"({"b":"two \"quoted\"\n","a":"one"})");
  ASSERT_TRUE(write_podinfo(pod, {}, context_));
  EXPECT_EQ(read("name"), "p");
  EXPECT_EQ(read("deep/er/labels"), "a=\"one\"\nb=\"two \\\"quoted\\\"\\n\"");
  EXPECT_EQ(read("deep/label"), "two \"quoted\"\n");
  EXPECT_EQ(read("cpu"), "2000");
  EXPECT_EQ(read("memory"), "2");
}

TEST_F(PodInfo, HasEveryItemThatADownwardVolumeMayHave) {
  auto pods = parse_pods_json(R"({"metadata":{"name":"p","namespace":"n","uid":"u",
      "labels":{"app":"x","b/c":"y"},"annotations":{"note":"tab\tbell\u0007","z":""}},
      "spec":{"containers":[{"name":"main","command":["x"],"resources":{
        "limits":{"cpu":"1500m","memory":"3Mi","hugepages-2Mi":"4Mi","ephemeral-storage":"5G"},
        "requests":{"cpu":"250m","memory":"1000000","hugepages-2Mi":"4Mi",
                    "ephemeral-storage":"1500"}}},
        {"name":"bare","command":["x"]}],
      "volumes":[{"name":"info","downwardAPI":{"defaultMode":288,"items":[
        {"path":"name","fieldRef":{"fieldPath":"metadata.name"}},
        {"path":"namespace","fieldRef":{"fieldPath":"metadata.namespace"}},
        {"path":"uid","fieldRef":{"fieldPath":"metadata.uid"}},
        {"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},
        {"path":"label","fieldRef":{"fieldPath":"metadata.labels['b/c']"}},
        {"path":"no-label","fieldRef":{"fieldPath":"metadata.labels['none']"}},
        {"path":"annotations","fieldRef":{"fieldPath":"metadata.annotations"}},
        {"path":"annotation","mode":420,"fieldRef":{"fieldPath":"metadata.annotations['note']"}},
        {"path":"lc","resourceFieldRef":{"containerName":"main","resource":"limits.cpu"}},
        {"path":"lcm","resourceFieldRef":{"containerName":"main","resource":"limits.cpu",
         "divisor":"1m"}},
        {"path":"rc","resourceFieldRef":{"containerName":"main","resource":"requests.cpu"}},
        {"path":"rcm","resourceFieldRef":{"containerName":"main","resource":"requests.cpu",
         "divisor":"1m"}},
        {"path":"lm","resourceFieldRef":{"containerName":"main","resource":"limits.memory"}},
        {"path":"rm","resourceFieldRef":{"containerName":"main","resource":"requests.memory",
         "divisor":"1Ki"}},
        {"path":"lh","resourceFieldRef":{"containerName":"main","resource":"limits.hugepages-2Mi",
         "divisor":"1Mi"}},
        {"path":"rh","resourceFieldRef":{"containerName":"main",
         "resource":"requests.hugepages-2Mi"}},
        {"path":"le","resourceFieldRef":{"containerName":"main",
         "resource":"limits.ephemeral-storage","divisor":"1Gi"}},
        {"path":"re","resourceFieldRef":{"containerName":"main",
         "resource":"requests.ephemeral-storage","divisor":"1k"}},
        {"path":"all-cpus","resourceFieldRef":{"containerName":"bare","resource":"limits.cpu"}},
        {"path":"all-memory","resourceFieldRef":{"containerName":"bare",
         "resource":"limits.memory"}},
        {"path":"nothing","resourceFieldRef":{"containerName":"bare","resource":"requests.cpu"}}
      ]}}]}})");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_THAT(mistakes_of(pods->front()), testing::IsEmpty());
  context_.cpu_millis = 7000;
  context_.memory_bytes = 123;
  ASSERT_TRUE(write_podinfo(pods->front(), {}, context_));
  const std::map<std::string, std::string> expected{
      {"name", "p"},
      {"namespace", "n"},
      {"uid", "u"},
      {"labels", "app=\"x\"\nb/c=\"y\""},
      {"label", "y"},
      {"no-label", ""},
      {"annotations", "note=\"tab\\tbell\\a\"\nz=\"\""},
      {"annotation", "tab\tbell\a"},
      {"lc", "2"},
      {"lcm", "1500"},
      {"rc", "1"},
      {"rcm", "250"},
      {"lm", "3145728"},
      {"rm", "977"},
      {"lh", "4"},
      {"rh", "4194304"},
      {"le", "5"},
      {"re", "2"},
      {"all-cpus", "7"},
      {"all-memory", "123"},
      {"nothing", "0"}};
  for (const auto& [path, text] : expected) EXPECT_EQ(read(path), text) << path;
  EXPECT_EQ(mode_of("name"), 0440U);
  EXPECT_EQ(mode_of("annotation"), 0644U);
}

TEST_F(PodInfo, FollowsLabelsAndAmountsThatChange) {
  Pod pod = pod_with(R"([{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},
      {"path":"cpu","resourceFieldRef":{"containerName":"main","resource":"limits.cpu"}}])");
  ASSERT_TRUE(write_podinfo(pod, {}, context_));
  pod.labels["new"] = "one";
  pod.containers[0].resources.limits["cpu"] = Quantity::of(3);
  ASSERT_TRUE(write_podinfo(pod, {}, context_));
  EXPECT_EQ(read("labels"), "new=\"one\"");
  EXPECT_EQ(read("cpu"), "3");
}

TEST_F(PodInfo, IsWrittenWhateverTheApiHasChecked) {
  const Pod pod = pod_with(R"([{"path":"f","resourceFieldRef":
      {"containerName":"nobody","resource":"assigned.cpuset"}},
      {"path":"g","resourceFieldRef":{"resource":"assigned.memset","divisor":"3"}}])");
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  EXPECT_EQ(read("f"), "");
  EXPECT_EQ(read("g"), "");
}

TEST_F(PodInfo, IsOfEachContainerWhenAnAnnotationAsksForIt) {
  auto pods = parse_pods_json(R"({"metadata":{"name":"p","uid":"u",
      "annotations":{"corehold.dev/podinfo":"/etc/podinfo"}},"spec":{
      "initContainers":[{"name":"first","command":["x"]}],
      "containers":[{"name":"main","command":["x"]},{"name":"side","command":["x"]}]}})");
  ASSERT_TRUE(pods);
  EXPECT_THAT(mistakes_of(pods->front()), testing::IsEmpty());
  const AssignedByContainer assigned{{"main", {.cpus = {CpuId(4), CpuId(5)}, .mems = {NodeId(1)}}}};
  ASSERT_TRUE(write_podinfo(pods->front(), assigned, context_));
  const auto said = [&](const std::string& container, const std::string& file) {
    volume_ = podinfo_path(context_.root, "u", ".assigned-" + container);
    return read(file);
  };
  EXPECT_EQ(said("main", "assigned.cpuset"), "4-5");
  EXPECT_EQ(said("main", "assigned.memset"), "1");
  EXPECT_EQ(said("side", "assigned.cpuset"), "");
  EXPECT_EQ(said("first", "assigned.cpuset"), "");
  const auto launch = make_launch(pods->front(), "side", 0, context_);
  ASSERT_TRUE(launch);
  ASSERT_EQ(launch->mounts.size(), 1U);
  EXPECT_EQ(launch->mounts[0].target, "/etc/podinfo");
  EXPECT_EQ(launch->mounts[0].source, volume_.substr(0, volume_.rfind('-')) + "-side");
  EXPECT_TRUE(launch->mounts[0].read_only);

  context_.podinfo_annotation = PodInfoAnnotation::kIgnored;
  EXPECT_THAT(make_launch(pods->front(), "side", 0, context_)->mounts, testing::IsEmpty());
}

TEST_F(PodInfo, GoesOnForWhoWasGivenItByAnAnnotationThatIsGone) {
  auto pods = parse_pods_json(R"({"metadata":{"name":"p","uid":"u",
      "annotations":{"corehold.dev/podinfo":"/etc/podinfo"}},"spec":{
      "containers":[{"name":"main","command":["x"]}]}})");
  ASSERT_TRUE(pods);
  Pod& pod = pods->front();
  volume_ = podinfo_path(context_.root, "u", ".assigned-main");
  const auto tell = [&](const CpuSet& cpus) {
    ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = cpus}}}, context_));
  };
  tell({CpuId(4), CpuId(5)});
  context_.podinfo_annotation = PodInfoAnnotation::kIgnored;
  tell({CpuId(4)});
  EXPECT_EQ(read("assigned.cpuset"), "4") << "a container that runs has it mounted still";

  context_.podinfo_annotation = PodInfoAnnotation::kObeyed;
  pod.annotations.clear();
  tell({CpuId(5)});
  EXPECT_EQ(read("assigned.cpuset"), "5");
  pod.uid = "other";
  tell({CpuId(5)});
  EXPECT_NE(::access((context_.root + "/podinfo/other").c_str(), F_OK), 0)
      << "nobody has asked for it";
}

TEST_F(PodInfo, LeavesNothingOfAWriteThatFails) {
  std::string path;
  for (int i = 0; i < 20; ++i) path.append(250, 'a').append("/");
  path += "file";
  const Pod pod =
      pod_with(fmt::format(R"([{},{{"path":"{}","fieldRef":{{"fieldPath":"metadata.name"}}}}])",
                           assigned("cpuset"), path));
  EXPECT_FALSE(write_podinfo(pod, {}, context_));
  EXPECT_FALSE(write_podinfo(pod, {}, context_));
  EXPECT_THAT(*entries_of(volume_), testing::IsEmpty());
}

TEST_F(PodInfo, CannotBeWhereAVolumeIs) {
  auto pods = parse_pods_json(R"({"metadata":{"name":"p","uid":"u",
      "annotations":{"corehold.dev/podinfo":"/etc/podinfo"}},"spec":{"containers":[
      {"name":"main","command":["x"],"volumeMounts":[{"name":"v","mountPath":"/etc/podinfo/x"}]}],
      "volumes":[{"name":"v","emptyDir":{}}]}})");
  ASSERT_TRUE(pods);
  EXPECT_THAT(mistakes_of(pods->front()),
              ElementsAre("metadata.annotations.corehold.dev/podinfo: container main mounts a "
                          "volume on /etc/podinfo/x: choose another directory"));
  pods->front().annotations["corehold.dev/podinfo"] = "etc";
  EXPECT_THAT(mistakes_of(pods->front()),
              ElementsAre(StartsWith("metadata.annotations.corehold.dev/podinfo: \"etc\" is not an "
                                     "absolute path below /")));
}

TEST_F(PodInfo, IsLeftAloneWhenItSaysSoAlready) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "]");
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  const std::string before = generation();
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  EXPECT_EQ(generation(), before);
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(2)}}}}, context_));
  EXPECT_NE(generation(), before);
  EXPECT_EQ(read("cpuset"), "2");
}

TEST_F(PodInfo, ChangesAllAtOnceAndKeepsOnlyTheContentBefore) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "," + assigned("memset") + "]");
  for (int cpu = 0; cpu < 3; ++cpu) {
    ASSERT_TRUE(
        write_podinfo(pod, {{"main", {.cpus = {CpuId(cpu)}, .mems = {NodeId(cpu)}}}}, context_));
  }
  EXPECT_THAT(*entries_of(volume_), ElementsAre(StartsWith("..content-"), StartsWith("..content-"),
                                                "..data", "cpuset", "memset"))
      << "the content before the last stays for who is on the way to it";
}

TEST_F(PodInfo, ClearsUpAfterAWriteThatWasInterrupted) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "]");
  ASSERT_TRUE(make_directories(volume_ + "/..content-old", 0755));
  ASSERT_EQ(::symlink("..content-old", (volume_ + "/..data_tmp").c_str()), 0);
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  EXPECT_EQ(read("cpuset"), "1");
  EXPECT_THAT(*entries_of(volume_), ElementsAre(StartsWith("..content-"), "..data", "cpuset"));
}

TEST_F(PodInfo, IsMendedWhenSomebodyChangedIt) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "]");
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  ASSERT_EQ(::unlink((volume_ + "/cpuset").c_str()), 0);
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  EXPECT_EQ(read("cpuset"), "1");
  for (const std::string link : {"/..data", "/cpuset"}) {
    ASSERT_EQ(::unlink((volume_ + link).c_str()), 0);
    ASSERT_TRUE(make_directories(volume_ + link + "/directory", 0755));
    ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
    EXPECT_EQ(read("cpuset"), "1");
  }
}

TEST_F(PodInfo, CanBeWatched) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "]");
  ASSERT_TRUE(write_podinfo(pod, {}, context_));
  const Descriptor watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), volume_.c_str(), IN_MOVED_TO), 0);
  ASSERT_TRUE(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}}}}, context_));
  alignas(inotify_event) std::array<char, 4096> events{};
  ASSERT_GT(::read(watch.get(), events.data(), events.size()), 0);
  EXPECT_STREQ(reinterpret_cast<const inotify_event*>(events.data())->name, "..data");
}

TEST_F(PodInfo, HasTheModesAskedFor) {
  const Pod pod = pod_with(
      R"([{"path":"a","mode":256,"fieldRef":{"fieldPath":"metadata.name"}},
          {"path":"b","fieldRef":{"fieldPath":"metadata.name"}}])");
  ASSERT_TRUE(write_podinfo(pod, {}, context_));
  EXPECT_EQ(mode_of("a"), 0400U);
  EXPECT_EQ(mode_of("b"), 0644U);
}

TEST_F(PodInfo, GoesWithThePod) {
  ASSERT_TRUE(write_podinfo(pod_with("[" + assigned("cpuset") + "]"), {}, context_));
  ASSERT_TRUE(remove_pod_files(context_.root, "u", Launcher()));
  EXPECT_NE(::access((context_.root + "/podinfo/u").c_str(), F_OK), 0);
  EXPECT_TRUE(remove_pod_files(context_.root, "u", Launcher()));
}

TEST_F(PodInfo, SaysWhichVolumeCouldNotBeWritten) {
  context_.root = "/proc/no-such-root";
  const auto written = write_podinfo(pod_with("[]"), {}, context_);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message,
              StartsWith("volume info of pod default/p: make directory /proc/no-such-root"));
}

}  // namespace
}  // namespace corehold
