// SPDX-License-Identifier: Apache-2.0
#include "runtime/container_directory.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class Directory : public testing::Test {
 protected:
  Directory() {
    std::string pattern = testing::TempDir() + "containers-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    CHECK(directory().make().has_value());
  }
  ~Directory() override { static_cast<void>(remove_tree(root_)); }

  ContainerDirectory directory() const { return ContainerDirectory::of(root_, {"u", "main"}); }

  std::string root_{};
};

TEST_F(Directory, KeepsALaunch) {
  Launch launch{
      .container = {"u", "main"},
      .attempt = 3,
      .command = {"/bin/x", "a b", ""},
      .environment = {{"A", "1"}, {"B", "\n\"x"}},
      .working_directory = "/srv",
      .user = 0,
      .group = 5,
      .groups = {6, 7},
      .mounts = {{.source = "/s", .target = "/t", .read_only = true, .sub_path = "p"},
                 {.source = "/v", .target = "/w", .may_create = true}},
      .host_paths = {{.volume = "v of pod d/p", .path = "/s", .type = "File", .root = "/r"}},
      .log_path = "/l",
      .manifest = R"({"kind":"Pod"})",
      .placement = {.cpus = *CpuSet::parse("1-3"),
                    .mems = *NodeSet::parse("0"),
                    .limits = {.cpu_shares = 1024,
                               .quota = 500,
                               .memory_limit = std::int64_t{5} << 30}},
      .attached = 11,
      .attached_to = 12,
      .no_new_privileges = true};
  ASSERT_TRUE(directory().write_launch({.launch = launch, .confinement = {{"kind", "affinity"}}}));
  const auto read = directory().read_launch();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->launch.container, launch.container);
  EXPECT_EQ(read->launch.attempt, launch.attempt);
  EXPECT_EQ(read->launch.command, launch.command);
  EXPECT_EQ(read->launch.environment, launch.environment);
  EXPECT_EQ(read->launch.working_directory, launch.working_directory);
  EXPECT_EQ(read->launch.user, launch.user);
  EXPECT_EQ(read->launch.group, launch.group);
  EXPECT_EQ(read->launch.groups, launch.groups);
  EXPECT_EQ(read->launch.mounts, launch.mounts);
  EXPECT_EQ(read->launch.host_paths, launch.host_paths);
  EXPECT_EQ(read->launch.log_path, launch.log_path);
  EXPECT_EQ(read->launch.manifest, launch.manifest);
  EXPECT_EQ(read->launch.placement, launch.placement);
  EXPECT_EQ(read->launch.attached, launch.attached);
  EXPECT_EQ(read->launch.attached_to, launch.attached_to);
  EXPECT_TRUE(read->launch.no_new_privileges);
  EXPECT_EQ(read->confinement, (boost::json::object{{"kind", "affinity"}}));
}

TEST_F(Directory, KeepsNoMemoryLimitWhereNoneWasWritten) {
  std::ofstream(directory().path() + "/launch.json")
      << R"({"pod":"u","container":"main","confines":{"cpus":"1","cpuShares":2,"quotaMillis":5}})";
  const auto read = directory().read_launch();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->launch.placement.limits.quota, 5);
  EXPECT_EQ(read->launch.placement.limits.memory_limit, 0);
}

TEST_F(Directory, KeepsTheDifferenceBetweenNoUserAndRoot) {
  ASSERT_TRUE(directory().write_launch({.launch = {.container = {"u", "main"}}}));
  EXPECT_FALSE(directory().read_launch()->launch.user);
  EXPECT_FALSE(directory().read_launch()->launch.placement.mems);
}

TEST_F(Directory, KeepsProcessesOfThisBoot) {
  EXPECT_FALSE(directory().has_main());
  const StoredProcess supervisor{.process = *identify(::getpid()),
                                 .started_at = std::chrono::milliseconds(5)};
  ASSERT_TRUE(directory().write_supervisor(supervisor));
  ASSERT_TRUE(directory().read_supervisor());
  EXPECT_EQ(directory().read_supervisor()->process, supervisor.process);
  std::ofstream(directory().path() + "/main.json")
      << R"({"pid":1,"startTime":1,"bootId":"another","startedAt":1})";
  EXPECT_FALSE(directory().read_main());
  EXPECT_TRUE(directory().has_main());
}

TEST_F(Directory, KeepsAnExit) {
  EXPECT_FALSE(directory().read_exit());
  const ContainerExit exit{.code = 137,
                           .signal = 9,
                           .cause = ExitCause::kOutOfMemory,
                           .message = "m",
                           .finished_at = std::chrono::milliseconds(1'700'000'000'000)};
  ASSERT_TRUE(directory().write_exit(exit));
  EXPECT_EQ(directory().read_exit(), exit);
}

TEST_F(Directory, SaysWhatIsWrongWithALaunchThatWasTorn) {
  std::ofstream(directory().path() + "/launch.json") << "{\"pod\":";
  const auto read = directory().read_launch();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_THAT(read.error().message, HasSubstr("launch.json: "));
}

TEST_F(Directory, IsListedUntilItIsRemoved) {
  EXPECT_THAT(*ContainerDirectory::all(root_), testing::ElementsAre(ContainerRef{"u", "main"}));
  ASSERT_TRUE(directory().remove());
  EXPECT_TRUE(ContainerDirectory::all(root_)->empty());
  EXPECT_TRUE(ContainerDirectory::all(root_ + "/none")->empty());
}

TEST_F(Directory, KeepsWhatAClientHadBefore) {
  const StoredProcess supervisor{
      .process = {.pid = 5, .start_time = 6},
      .unrelated = {{.pid = 7, .start_time = 8}, {.pid = 9, .start_time = 10}}};
  ASSERT_TRUE(directory().write_supervisor(supervisor));
  ASSERT_TRUE(directory().read_supervisor());
  EXPECT_EQ(directory().read_supervisor()->unrelated, supervisor.unrelated);
}

TEST_F(Directory, IsSweptOfWhatWasBeingRemovedAndOfNothingElse) {
  ASSERT_TRUE(make_directories(root_ + "/containers/.gone-u-other/view", 0755));
  ASSERT_TRUE(make_directories(root_ + "/containers/.something", 0755));
  ContainerDirectory::sweep(root_);
  EXPECT_THAT(*entries_of(root_ + "/containers"), testing::ElementsAre(".something", "u"));
  ContainerDirectory::sweep(root_ + "/none");
}

// The last container of a pod was removed by an agent that was killed in that moment.
TEST_F(Directory, IsSweptOfPodsWithoutContainers) {
  ASSERT_TRUE(make_directories(root_ + "/containers/emptied", 0755));
  ContainerDirectory::sweep(root_);
  EXPECT_THAT(*entries_of(root_ + "/containers"), testing::ElementsAre("u"));
}

TEST(ContainerNames, CannotLeaveTheirDirectory) {
  for (const char* bad : {"", ".", "..", ".a", "a/b", "../x", "a\nb"}) {
    EXPECT_FALSE(check_names({"u", bad})) << bad;
    EXPECT_FALSE(check_names({bad, "main"})) << bad;
  }
  EXPECT_TRUE(check_names({"u", "main"}));
}

}  // namespace
}  // namespace corehold
