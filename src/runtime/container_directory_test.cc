// SPDX-License-Identifier: Apache-2.0
#include "runtime/container_directory.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

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
  ASSERT_TRUE(directory().write_launch({.launch = launch,
                                        .confinement = {{"kind", "affinity"}},
                                        .start_timeout = std::chrono::seconds(7)}));
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
  EXPECT_EQ(read->start_timeout, std::chrono::seconds(7));
}

TEST_F(Directory, KeepsNoMemoryLimitWhereNoneWasWritten) {
  std::ofstream(directory().path() + "/launch.json")
      << R"({"pod":"u","container":"main","confines":{"cpus":"1","cpuShares":2,"quotaMillis":5}})";
  const auto read = directory().read_launch();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->launch.placement.limits.quota, 5);
  EXPECT_EQ(read->launch.placement.limits.memory_limit, 0);
  EXPECT_EQ(read->start_timeout, std::chrono::minutes(1));
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
  ASSERT_TRUE(directory().write_exit(exit, 3));
  EXPECT_EQ(directory().read_exit(), (StoredExit{.exit = exit, .attempt = 3}));
}

TEST_F(Directory, KeepsAnExitThatVersion01HasWritten) {
  std::ofstream(directory().path() + "/exit.json") << R"({"code":5,"known":true,"finishedAt":7})";
  ASSERT_TRUE(directory().read_exit());
  EXPECT_EQ(directory().read_exit()->exit.code, 5);
  EXPECT_FALSE(directory().read_exit()->attempt);
}

// A letter of each record is another.
TEST_F(Directory, NamesTheRecordThatIsDamaged) {
  const StoredProcess process{.process = *identify(::getpid())};
  ASSERT_TRUE(directory().write_launch({.launch = {.container = {"u", "main"}, .attempt = 7}}));
  ASSERT_TRUE(directory().write_supervisor(process));
  ASSERT_TRUE(directory().write_main(process));
  ASSERT_TRUE(directory().write_exit({.code = 5}, 7));
  ASSERT_TRUE(directory().check());
  for (const std::string file : {"launch.json", "keeper.json", "main.json", "exit.json"}) {
    const std::string path = directory().path() + "/" + file;
    const std::string whole = *read_file(path, 10'000);
    std::string other = whole;
    char& digit = other[other.find_first_of("0123456789")];
    digit = digit == '9' ? '8' : '9';
    std::ofstream(path) << other;
    const auto checked = directory().check();
    ASSERT_FALSE(checked) << file;
    EXPECT_EQ(checked.error().code, Code::kCorrupt);
    EXPECT_THAT(checked.error().message, HasSubstr(path + ": its digest is "));
    EXPECT_EQ(directory().check_exit().has_value(), file != "exit.json");
    std::ofstream(path) << whole;
    ASSERT_TRUE(directory().check());
  }
}

TEST_F(Directory, NamesTheRecordThatIsMissing) {
  const StoredProcess process{.process = *identify(::getpid())};
  EXPECT_TRUE(directory().check());
  ASSERT_TRUE(directory().write_main(process));
  EXPECT_EQ(directory().check().error().message, directory().path() + "/launch.json is missing");
  ASSERT_TRUE(directory().write_launch({.launch = {.container = {"u", "main"}}}));
  EXPECT_EQ(directory().check().error().message, directory().path() + "/keeper.json is missing");
  ASSERT_TRUE(directory().write_supervisor(process));
  EXPECT_TRUE(directory().check());
}

TEST_F(Directory, PutsARecordAsideWhateverItIs) {
  ASSERT_TRUE(make_directories(directory().path() + "/exit.json", 0755));
  EXPECT_FALSE(directory().check());
  ASSERT_TRUE(directory().put_aside("exit.json"));
  ASSERT_TRUE(directory().put_aside("exit.json"));
  EXPECT_TRUE(directory().check());
  EXPECT_THAT(*entries_of(directory().path()),
              testing::ElementsAre(testing::StartsWith("exit.json.corrupt-")));
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

TEST_F(Directory, RefusesALinkInThePlaceOfADirectoryAndPutsItAside) {
  const std::string foreign = root_ + "/foreign";
  ASSERT_TRUE(make_directories(foreign + "/main", 0755));
  for (const std::string place : {"/containers/linked", "/containers/u/linked"}) {
    ASSERT_EQ(::symlink(foreign.c_str(), (root_ + place).c_str()), 0);
    const auto all = ContainerDirectory::all(root_);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, Code::kCorrupt);
    EXPECT_THAT(all.error().message, testing::HasSubstr(root_ + place + " is a link"));
    const auto told = ContainerDirectory::put_links_aside(root_);
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_THAT(*told, testing::ElementsAre(testing::HasSubstr(".link-linked now")));
    ASSERT_TRUE(ContainerDirectory::all(root_));
    EXPECT_THAT(*ContainerDirectory::all(root_),
                testing::ElementsAre(ContainerRef{.pod = "u", .container = "main"}));
  }
  EXPECT_THAT(*entries_of(foreign), testing::ElementsAre("main"));
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
