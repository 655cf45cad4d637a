// SPDX-License-Identifier: Apache-2.0
//
// Volumes on the real kernel: seen where the pod asks for them, with nothing made on the
// machine for that.
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "runtime/process/testing.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/podinfo.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class ContainerVolumes : public testing::Test {
 protected:
  ContainerVolumes() {
    std::string pattern = "/tmp/corehold-host-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    host_ = pattern;
  }
  ~ContainerVolumes() override {
    static_cast<void>(remove_pod_files(bench_.root(), "uid-1", Launcher()));
    static_cast<void>(remove_tree(host_));
  }

  // A pod with one container that runs SCRIPT with these mounts of these volumes.
  Pod pod(const std::string& script, const std::string& mounts, const std::string& volumes,
          const std::string& more = "{}") {
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"p","uid":"uid-1","labels":{{"app":"x"}}}},"spec":{{
            "securityContext":{},"containers":[{{"name":"main","command":["sh","-c","{}"],
            "volumeMounts":{}}}],"volumes":{}}}}})",
        more, script, mounts, volumes);
    auto value = parse_json(text);
    CHECK(value.has_value());
    auto parsed = pod_from_json(value->get_object());
    CHECK(parsed.has_value());
    EXPECT_THAT(mistakes_of(*parsed), testing::IsEmpty());
    return *parsed;
  }

  LaunchContext context() { return {.root = bench_.root(), .node_name = "n1"}; }

  Result<void> begin(const Pod& pod) {
    TRY(make_volumes(bench_.root(), pod, Launcher()));
    TRY(write_podinfo(pod, {{"main", {.cpus = {CpuId(1)}, .mems = {NodeId(0)}}}}, context()));
    launch_ = TRY(make_launch(pod, "main", 0, context()));
    launch_.placement.cpus = {CpuId(0), CpuId(1)};
    return bench_.start(launch_);
  }

  // What the container writes, run to its end; the error's text when it cannot be started.
  std::string output(const Pod& pod) {
    const auto started = begin(pod);
    if (!started) return started.error().message;
    if (!bench_.wait_for_exit()) return "it does not end";
    return bench_.log_of(launch_);
  }

  RuntimeBench bench_{RuntimeBench::Kind::kCgroup};
  std::string host_{};
  Launch launch_{};
};

TEST_F(ContainerVolumes, AreSeenAtPathsThatDoNotExist) {
  std::ofstream(host_ + "/file") << "from the machine";
  EXPECT_EQ(output(pod("cat /corehold-new/deep/er/file; echo; cat /etc/corehold-new/file; echo; "
                       "cat /etc/hostname > /dev/null && ls -d /usr /proc/self /dev/null",
                       R"([{"name":"v","mountPath":"/corehold-new/deep/er"},
                     {"name":"v","mountPath":"/etc/corehold-new"}])",
                       fmt::format(R"([{{"name":"v","hostPath":{{"path":"{}"}}}}])", host_))),
            "from the machine\nfrom the machine\n/dev/null\n/proc/self\n/usr\n");
  EXPECT_NE(::access("/corehold-new", F_OK), 0);
  EXPECT_NE(::access("/etc/corehold-new", F_OK), 0);
}

TEST_F(ContainerVolumes, DoNotHideWhatElseIsThere) {
  const auto everything = [](const std::string& directory) {
    const auto names = entries_of(directory);
    return names ? fmt::format("{}\n", fmt::join(*names, "\n")) : "";
  };
  EXPECT_EQ(output(pod("ls -A / | LC_ALL=C sort | grep -v corehold-new; ls -A /etc | "
                       "LC_ALL=C sort | grep -v corehold-new",
                       R"([{"name":"v","mountPath":"/corehold-new"},
                           {"name":"v","mountPath":"/etc/corehold-new"}])",
                       R"([{"name":"v","emptyDir":{}}])")),
            everything("/") + everything("/etc"));
}

TEST_F(ContainerVolumes, AreSeenOverWhatExists) {
  std::ofstream(host_ + "/file") << "mine";
  EXPECT_EQ(output(pod("ls /mnt; cat /etc/hostname", R"([{"name":"v","mountPath":"/mnt"},
                        {"name":"f","mountPath":"/etc/hostname"}])",
                       fmt::format(R"([{{"name":"v","hostPath":{{"path":"{0}"}}}},
                           {{"name":"f","hostPath":{{"path":"{0}/file","type":"File"}}}}])",
                                   host_))),
            "file\nmine");
}

TEST_F(ContainerVolumes, CanBeReadOnly) {
  EXPECT_THAT(output(pod("touch /new/x 2>&1; touch /writable/x && ls /writable",
                         R"([{"name":"v","mountPath":"/new","readOnly":true},
                             {"name":"v","mountPath":"/writable"}])",
                         R"([{"name":"v","emptyDir":{}}])")),
              testing::AllOf(HasSubstr("Read-only file system"), HasSubstr("\nx\n")));
}

TEST_F(ContainerVolumes, MayLieInsideEachOther) {
  EXPECT_EQ(
      output(pod("touch /data/mine; cat /data/info/cpus; echo; ls /data",
                 R"([{"name":"i","mountPath":"/data/info"},{"name":"v","mountPath":"/data"}])",
                 R"([{"name":"v","emptyDir":{}},{"name":"i","downwardAPI":{"items":[
                           {"path":"cpus","resourceFieldRef":
                            {"containerName":"main","resource":"assigned.cpuset"}}]}}])")),
      "1\ninfo\nmine\n");
}

TEST_F(ContainerVolumes, IncludeTheFilesThatAnAnnotationAsksFor) {
  Pod asking =
      pod("cat /etc/podinfo/assigned.cpuset; echo; cat /etc/podinfo/assigned.memset; echo; "
          "touch /etc/podinfo/x 2>&1; until grep -qx 0-1 /etc/podinfo/assigned.cpuset; do "
          "sleep 0.01; done; cat /etc/podinfo/assigned.cpuset",
          "[]", "[]");
  asking.annotations["corehold.dev/podinfo"] = "/etc/podinfo";
  ASSERT_TRUE(begin(asking));
  const AssignedByContainer more{{"main", {.cpus = {CpuId(0), CpuId(1)}, .mems = {NodeId(0)}}}};
  ASSERT_TRUE(write_podinfo(asking, more, context())) << "it is seen in the container that runs";
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_THAT(bench_.log_of(launch_), testing::AllOf(testing::MatchesRegex("(1|0-1)\n0\n.*\n0-1"),
                                                     HasSubstr("Read-only file system")));
  EXPECT_NE(::access("/etc/podinfo", F_OK), 0) << "nothing is made on the machine";
}

TEST_F(ContainerVolumes, AreNotMadeInsideTheMachinesOwnDirectories) {
  EXPECT_THAT(output(pod("true", R"([{"name":"h","mountPath":"/data"},
                                     {"name":"v","mountPath":"/data/inner"}])",
                         fmt::format(R"([{{"name":"h","hostPath":{{"path":"{}"}}}},
                             {{"name":"v","emptyDir":{{}}}}])",
                                     host_))),
              HasSubstr("mount /data/inner: inner does not exist in the volume mounted on /data, "
                        "and nothing is created there: create it first"));
  EXPECT_NE(::access((host_ + "/inner").c_str(), F_OK), 0);
}

TEST_F(ContainerVolumes, CanBePartOfAVolume) {
  ASSERT_TRUE(make_directories(host_ + "/a/b", 0755));
  std::ofstream(host_ + "/a/b/file") << "part";
  EXPECT_EQ(output(pod("cat /new/file; ls -d /made", R"([
                        {"name":"v","mountPath":"/new","subPath":"a/b"},
                        {"name":"e","mountPath":"/made","subPath":"c/d"}])",
                       fmt::format(R"([{{"name":"v","hostPath":{{"path":"{}"}}}},
                           {{"name":"e","emptyDir":{{}}}}])",
                                   host_))),
            "part/made\n");
}

TEST_F(ContainerVolumes, CannotBeLeftThroughALinkInASubPath) {
  ASSERT_EQ(::symlink("/etc", (host_ + "/out").c_str()), 0);
  EXPECT_THAT(
      output(pod("cat /new/hostname", R"([{"name":"v","mountPath":"/new","subPath":"out"}])",
                 fmt::format(R"([{{"name":"v","hostPath":{{"path":"{}"}}}}])", host_))),
      HasSubstr(fmt::format("open subPath out of {}: ENOENT", host_)));
}

TEST_F(ContainerVolumes, KeepTheContentOfAnEmptyDirForTheNextAttempt) {
  const Pod both = pod("cat /new/x 2>/dev/null || echo first > /new/x",
                       R"([{"name":"v","mountPath":"/new"}])", R"([{"name":"v","emptyDir":{}}])");
  EXPECT_EQ(output(both), "");
  EXPECT_EQ(output(both), "first\n");
  ASSERT_TRUE(remove_pod_files(bench_.root(), "uid-1", Launcher()));
  EXPECT_NE(::access((bench_.root() + "/volumes/uid-1").c_str(), F_OK), 0);
}

TEST_F(ContainerVolumes, CanBeInMemory) {
  EXPECT_THAT(output(pod("stat -f -c %T /new; dd if=/dev/zero of=/new/x bs=1M count=2 2>&1",
                         R"([{"name":"v","mountPath":"/new"}])",
                         R"([{"name":"v","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}])")),
              testing::AllOf(HasSubstr("tmpfs"), HasSubstr("No space left")));
  EXPECT_THAT(*read_kernel_file("/proc/mounts"), HasSubstr(bench_.root()));
  ASSERT_TRUE(remove_pod_files(bench_.root(), "uid-1", Launcher()));
  EXPECT_THAT(*read_kernel_file("/proc/mounts"), testing::Not(HasSubstr(bench_.root())));
}

TEST_F(ContainerVolumes, CanBeWrittenByWhoeverTheContainerRunsAs) {
  EXPECT_EQ(output(pod("touch /new/x && stat -c '%u %g' /new/x; cat /info/name",
                       R"([{"name":"v","mountPath":"/new"},{"name":"i","mountPath":"/info"}])",
                       R"([{"name":"v","emptyDir":{}},{"name":"i","downwardAPI":{"defaultMode":256,
                           "items":[{"path":"name","fieldRef":{"fieldPath":"metadata.name"}}]}}])",
                       R"({"runAsUser":65534,"fsGroup":4321})")),
            "65534 4321\np");
}

TEST_F(ContainerVolumes, ShowChangesOfPodinfoToARunningContainer) {
  const Pod asking = pod("while ! grep -q 0-1 /info/cpus; do sleep 0.01; done; echo seen",
                         R"([{"name":"i","mountPath":"/info"}])",
                         R"([{"name":"i","downwardAPI":{"items":[{"path":"cpus","resourceFieldRef":
              {"containerName":"main","resource":"assigned.cpuset"}}]}}])");
  ASSERT_TRUE(begin(asking));
  ASSERT_TRUE(write_podinfo(asking, {{"main", {.cpus = {CpuId(0), CpuId(1)}}}}, context()));
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_EQ(bench_.log_of(launch_), "seen\n");
}

TEST_F(ContainerVolumes, AreRefusedWhenThePathIsMissing) {
  const std::string missing = host_ + "/missing";
  const auto volumes = [&](const std::string& type) {
    return fmt::format(R"([{{"name":"v","hostPath":{{"path":"{}","type":"{}"}}}}])", missing, type);
  };
  const std::string mounts = R"([{"name":"v","mountPath":"/new"}])";
  EXPECT_EQ(
      output(pod("true", mounts, volumes("Directory"))),
      fmt::format("start container main (pod uid-1): volume v of pod default/p: {} does not exist",
                  missing));
  EXPECT_EQ(
      output(pod("true", mounts, volumes("DirectoryOrCreate"))),
      fmt::format("start container main (pod uid-1): volume v of pod default/p: {} does not exist, "
                  "and nothing is created outside {}: create it first, or use an emptyDir",
                  missing, bench_.root()));
  EXPECT_NE(::access(missing.c_str(), F_OK), 0);
}

TEST_F(ContainerVolumes, AreRefusedOnTopOfSomethingElse) {
  EXPECT_THAT(output(pod("true", R"([{"name":"v","mountPath":"/etc/hostname"}])",
                         R"([{"name":"v","emptyDir":{}}])")),
              HasSubstr("/etc/hostname is no directory on this machine, and the volume is one"));
  EXPECT_THAT(output(pod("true", R"([{"name":"v","mountPath":"/etc/hostname/inner"}])",
                         R"([{"name":"v","emptyDir":{}}])")),
              HasSubstr("mount /etc/hostname/inner: "));
}

TEST_F(ContainerVolumes, AreNobodyElsesButWorkForTheUserOfThePod) {
  // As an earlier version made them.
  ASSERT_TRUE(make_directories(bench_.root() + "/volumes", 0755));
  ASSERT_EQ(::chmod(bench_.root().c_str(), 0755), 0);
  const Pod own = pod("echo text > /data/file && cat /data/file /info/name && id -u",
                      R"([{"name":"v","mountPath":"/data"},{"name":"m","mountPath":"/memory"},
                          {"name":"i","mountPath":"/info"}])",
                      R"([{"name":"v","emptyDir":{}},{"name":"m","emptyDir":{"medium":"Memory"}},
                          {"name":"i","downwardAPI":{"items":[{"path":"name",
                             "fieldRef":{"fieldPath":"metadata.name"}}]}}])",
                      R"({"runAsUser":65534,"runAsGroup":65534})");
  EXPECT_EQ(output(own), "text\np65534\n");
  for (const char* name : {"volumes", "podinfo", "containers", "logs"}) {
    struct stat status {};
    ASSERT_EQ(::stat(fmt::format("{}/{}", bench_.root(), name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0700U) << name;
  }
}

TEST_F(ContainerVolumes, AreNotMadeThroughALinkBelowTheRoot) {
  ASSERT_EQ(::symlink(host_.c_str(), (bench_.root() + "/link").c_str()), 0);
  for (const char* type : {"DirectoryOrCreate", "FileOrCreate"}) {
    EXPECT_THAT(output(pod("true", R"([{"name":"v","mountPath":"/data"}])",
                           fmt::format(R"([{{"name":"v","hostPath":{{"path":"{}/link/new",
                                           "type":"{}"}}}}])",
                                       bench_.root(), type))),
                HasSubstr("/link/new: ELOOP"));
  }
  EXPECT_THAT(*entries_of(host_), testing::IsEmpty());
}

TEST_F(ContainerVolumes, OfPodsThatAreGoneAreFoundAndRemovedAndNoOthers) {
  const std::string other = "0b6f1c9e-0f5e-4a55-9c0e-2f7d1f0a9a01";
  const std::string gone = "0b6f1c9e-0f5e-4a55-9c0e-2f7d1f0a9a02";
  const std::string top = bench_.root() + "/volumes/";
  for (const std::string& name : {other, gone, std::string("mine")}) {
    ASSERT_TRUE(make_directories(top + name + "/v", 0755));
  }
  ASSERT_EQ(::mount("test", (top + gone + "/v").c_str(), "tmpfs", 0, ""), 0);
  ASSERT_TRUE(make_directories(bench_.root() + "/logs/" + gone, 0755));
  EXPECT_THAT(pods_with_files(bench_.root()), testing::ElementsAre(other, gone));
  ASSERT_TRUE(remove_pod_files(bench_.root(), gone, Launcher()));
  EXPECT_THAT(*entries_of(top), testing::ElementsAre(other, "mine"));
  EXPECT_THAT(pods_with_files(bench_.root()), testing::ElementsAre(other));
  EXPECT_THAT(*entries_of(bench_.root() + "/logs"), testing::IsEmpty());
}

TEST_F(ContainerVolumes, LeaveTheMountsOfTheMachineAlone) {
  const std::string before = *read_kernel_file("/proc/self/mountinfo");
  ASSERT_TRUE(begin(pod("echo ready; sleep 1000", R"([{"name":"v","mountPath":"/new"},
                         {"name":"v","mountPath":"/opt/new"}])",
                        R"([{"name":"v","emptyDir":{}}])")));
  EXPECT_EQ(*read_kernel_file("/proc/self/mountinfo"), before);
}

}  // namespace
}  // namespace corehold
