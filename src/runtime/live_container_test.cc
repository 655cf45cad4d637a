// SPDX-License-Identifier: Apache-2.0
#include "runtime/live_container.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

LiveContainer container(const std::string& root) {
  return {.cgroup = "/sys/fs/cgroup/corehold/pods/u1/main",
          .pids = {12, 13},
          .cpus = *CpuSet::parse("2-3"),
          .supervisor = 11,
          .root = root};
}

TEST(RootOf, IsWhatComesBeforeTheRecords) {
  EXPECT_EQ(root_of("/var/lib/corehold/containers/u1/main"), "/var/lib/corehold");
  EXPECT_EQ(root_of("/containers/u1/main"), "");
  EXPECT_EQ(root_of("/var/lib/other/u1/main"), "");
  EXPECT_EQ(root_of("main"), "");
  EXPECT_EQ(root_of(""), "");
}

TEST(LastTwoNames, AreOfThePodAndTheContainer) {
  EXPECT_EQ(last_two_names("/sys/fs/cgroup/corehold/pods/u1/main"), "u1/main");
  EXPECT_EQ(last_two_names("u1/main"), "u1/main");
  EXPECT_EQ(last_two_names("main"), "");
  EXPECT_EQ(last_two_names("/main"), "");
}

TEST(UnknownContainers, AreNamedWithTheRootToStartWith) {
  const Error error = unknown_containers({container("/var/lib/a")}, "/var/lib/b");
  EXPECT_EQ(error.code, Code::kConflict);
  EXPECT_EQ(error.message,
            "a container runs on this machine that the agent of /var/lib/b does not know, and "
            "whose CPUs would be given twice: cgroup /sys/fs/cgroup/corehold/pods/u1/main "
            "(processes 12, 13; CPUs 2-3; looked after by process 11; of the agent with --root "
            "/var/lib/a); start the agent with --root /var/lib/a, or end them: kill -KILL 12 13");
}

TEST(UnknownContainers, AreNamedWithWhatIsLost) {
  LiveContainer attached = container("");
  attached.cgroup = "";
  attached.pids = {99};
  attached.supervisor = 0;
  const Error error = unknown_containers({container("/var/lib/b"), attached}, "/var/lib/b");
  EXPECT_EQ(error.message,
            "containers run on this machine that the agent of /var/lib/b does not know, and whose "
            "CPUs would be given twice: cgroup /sys/fs/cgroup/corehold/pods/u1/main (processes 12, "
            "13; CPUs 2-3; looked after by process 11; without its records in "
            "/var/lib/b/containers), a container without a cgroup (process 99; CPUs 2-3; without "
            "its records in /var/lib/b/containers); put /var/lib/b/containers back as it was, or "
            "start with --recover, which makes the records anew from what runs, or end them: kill "
            "-KILL 12 13 99");
}

TEST(UnknownContainers, AreNamedWithTheRecordThatIsDamaged) {
  LiveContainer damaged = container("/var/lib/b");
  damaged.damage = "/var/lib/b/containers/u1/main/launch.json: it is empty";
  const std::string message =
      unknown_containers({damaged}, "/var/lib/b", Recovery::kFailed).message;
  EXPECT_NE(message.find("its record cannot be used: /var/lib/b/containers/u1/main/launch.json: it "
                         "is empty); put /var/lib/b/containers back as it was, or end them: "),
            std::string::npos)
      << message;
}

TEST(UnknownContainers, AreNotAllNamedWhenThereAreMany) {
  LiveContainer crowd = container("/a");
  crowd.pids.clear();
  for (pid_t pid = 1; pid <= 20; ++pid) crowd.pids.push_back(pid);
  const Error error = unknown_containers(std::vector<LiveContainer>(10, crowd), "/b");
  EXPECT_NE(error.message.find("15, 16, and 4 more;"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(", and 2 more; start the agent with --root /a, or"),
            std::string::npos)
      << error.message;
}

TEST(UnknownContainers, MayHaveProcessesThatCannotBeSeen) {
  LiveContainer hidden = container("");
  hidden.pids.clear();
  const Error error = unknown_containers({hidden}, "/b");
  EXPECT_NE(error.message.find("(processes of another PID namespace; CPUs 2-3;"),
            std::string::npos);
  EXPECT_TRUE(error.message.ends_with("or end them")) << error.message;
}

}  // namespace
}  // namespace corehold
