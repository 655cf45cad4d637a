// SPDX-License-Identifier: Apache-2.0
#include "runtime/podinfo.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "runtime/pod_files.h"
#include "sys/descriptor.h"
#include "sys/directory.h"
#include "sys/file.h"

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

TEST_F(PodInfo, ChangesAllAtOnceAndLeavesNoOldFiles) {
  const Pod pod = pod_with("[" + assigned("cpuset") + "," + assigned("memset") + "]");
  for (int cpu = 0; cpu < 3; ++cpu) {
    ASSERT_TRUE(
        write_podinfo(pod, {{"main", {.cpus = {CpuId(cpu)}, .mems = {NodeId(cpu)}}}}, context_));
  }
  EXPECT_THAT(*entries_of(volume_),
              ElementsAre(StartsWith("..content-"), "..data", "cpuset", "memset"));
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
  struct stat status {};
  ASSERT_EQ(::stat((volume_ + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0400U);
  ASSERT_EQ(::stat((volume_ + "/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
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
