// SPDX-License-Identifier: Apache-2.0
//
// On a tree of plain directories, which the kernel watches as it does cgroups.
#include "kernel/cgroup_watch.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

TEST(FenceLevels, AreAllFromTheMountPointToTheContainers) {
  EXPECT_THAT(
      fence_levels({.own = "/corehold.slice/node"}),
      ElementsAre(FenceLevel{.cgroup = "", .ours = {"corehold.slice"}},
                  FenceLevel{.cgroup = "/corehold.slice", .ours = {"node"}},
                  FenceLevel{.cgroup = "/corehold.slice/node", .ours = {"pods", "shared"}}));
}

class CgroupWatchTest : public testing::Test {
 protected:
  CgroupWatchTest() { make("system.slice"); }

  void make(const std::string& cgroup) const { fs::create_directories(top() / cgroup); }
  fs::path top() const { return files_.root(); }
  // Watches beside /corehold.slice/node.
  void watch(FencePlaces::Version version = FencePlaces::Version::kV2,
             std::chrono::milliseconds pause = {}) {
    auto begun = CgroupWatch::begin(
        loop_,
        {.places = {.version = version, .mount = files_.root(), .own = "/corehold.slice/node"},
         .pause = pause},
        [this] { ++told_; });
    ASSERT_TRUE(begun) << begun.error().message;
    watch_ = *std::move(begun);
  }
  // How often it was told since the last call. The kernel has it ready before mkdir() returns.
  int told() {
    loop_.restart();
    while (loop_.poll() > 0) loop_.restart();
    return std::exchange(told_, 0);
  }

  boost::asio::io_context loop_;
  MadeFiles files_;
  std::unique_ptr<CgroupWatch> watch_;
  int told_ = 0;
};

TEST_F(CgroupWatchTest, TellsOfCgroupsBesideThoseOfContainersOnEachLevel) {
  make("corehold.slice/node");
  watch();
  EXPECT_EQ(told(), 0);
  make("machine.slice");
  EXPECT_EQ(told(), 1);
  make("corehold.slice/other");
  EXPECT_EQ(told(), 1);
  make("corehold.slice/node/agent");
  EXPECT_EQ(told(), 1);
}

TEST_F(CgroupWatchTest, SaysNothingOfContainersNorOfWhatIsBelowOthers) {
  make("corehold.slice/node/pods");
  watch();
  make("corehold.slice/node/shared/u1/main");
  make("corehold.slice/node/pods/u2/main");
  make("system.slice/cron.service");
  EXPECT_EQ(told(), 0);
  fs::remove(top() / "system.slice/cron.service");
  fs::remove(top() / "system.slice");
  std::ofstream(top() / "cgroup.procs") << "1";
  EXPECT_EQ(told(), 0);
}

TEST_F(CgroupWatchTest, FollowsTheContainersCgroupThroughItsComingAndGoing) {
  watch();
  make("corehold.slice/node/pods");
  EXPECT_EQ(told(), 0);
  make("corehold.slice/node/agent");
  EXPECT_EQ(told(), 1);
  fs::remove_all(top() / "corehold.slice");
  told();
  // Made at once: the level is looked at when it can be watched.
  make("corehold.slice/node/agent");
  EXPECT_EQ(told(), 1);
}

TEST_F(CgroupWatchTest, TellsOfManyTogether) {
  watch();
  for (int i = 0; i < 100; ++i) make("x" + std::to_string(i));
  EXPECT_EQ(told(), 1);
}

TEST_F(CgroupWatchTest, LetsAPauseGoByFirst) {
  watch(FencePlaces::Version::kV2, std::chrono::hours(1));
  make("machine.slice");
  EXPECT_EQ(told(), 0);
}

TEST_F(CgroupWatchTest, WatchesNoCpusetsOfVersion1) {
  watch(FencePlaces::Version::kV1);
  make("docker");
  EXPECT_EQ(told(), 0);
}

TEST_F(CgroupWatchTest, SaysNothingOnceItIsGone) {
  watch();
  make("machine.slice");
  watch_.reset();
  EXPECT_EQ(told(), 0);
  watch(FencePlaces::Version::kV2, std::chrono::hours(1));
  make("x");
  EXPECT_EQ(told(), 0);
  watch_.reset();
  EXPECT_EQ(told(), 0);
}

}  // namespace
}  // namespace corehold
