// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel of which something cannot be killed: nobody is told that they
// have ended or failed, because their CPUs would be given to others. What the freezer of
// cgroup v1 holds does not even die of SIGKILL.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StuckContainers : public ProcessContainers {
 protected:
  void SetUp() override {
    if (::mkdir(ice_.c_str(), 0755) != 0) GTEST_SKIP() << "there is no freezer";
  }
  void TearDown() override {
    thaw();
    bench_.eventually([&] { return ::rmdir(ice_.c_str()) == 0 || errno == ENOENT; });
  }

  void freeze(pid_t pid) {
    ASSERT_TRUE(write_kernel_file(ice_ + "/cgroup.procs", std::to_string(pid)));
    ASSERT_TRUE(write_kernel_file(ice_ + "/freezer.state", "FROZEN"));
    ASSERT_TRUE(
        bench_.eventually([&] { return *read_kernel_file(ice_ + "/freezer.state") == "FROZEN"; }));
  }
  void thaw() { static_cast<void>(write_kernel_file(ice_ + "/freezer.state", "THAWED")); }
  std::string ice_ = fmt::format("/sys/fs/cgroup/freezer/corehold-ice-{}", ::getpid());
};

TEST_F(StuckContainers, DoNotEndBeforeTheLastOfThemHasGone) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  freeze(pid_after(launch, "child "));
  ASSERT_TRUE(*send_signal(supervisor_of(launch), SIGKILL));
  ASSERT_TRUE(bench_.eventually([&] { return !bench_.troubles().empty(); }));
  EXPECT_THAT(bench_.troubles(),
              ElementsAre(fmt::format("container main (pod {}): 1 processes cannot be killed; its "
                                      "CPUs stay its own until nothing of it is left",
                                      launch.container.pod)));
  EXPECT_TRUE(bench_.exits().empty());
  EXPECT_TRUE(bench_.look(launch.container)->running);
  thaw();
  EXPECT_TRUE(bench_.wait_for_exit());
}

TEST_F(StuckContainers, DoNotKeepTheNextAgentFromFindingTheOthers) {
  const Launch launch = bench_.shell("main", "setsid sleep 1000 & echo child $!; wait", "1");
  const Launch other = bench_.shell("other", "sleep 1000", "0");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.start(other));
  freeze(pid_after(launch, "child "));
  const ProcessId supervisor = supervisor_of(launch);
  bench_.restart();
  ASSERT_TRUE(*send_signal(supervisor, SIGKILL));
  ASSERT_TRUE(bench_.eventually([&] { return !is_running(supervisor); }));
  const auto found = bench_.list();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_TRUE((*found)[0].running);
  EXPECT_EQ((*found)[0].cpus.str(), "1");
  EXPECT_TRUE((*found)[1].running);
  ASSERT_TRUE(bench_.eventually([&] { return !bench_.troubles().empty(); }));
  EXPECT_THAT(bench_.troubles()[0], HasSubstr("cannot be killed; its CPUs stay its own"));
  const auto removed = bench_.remove(launch.container);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kConflict);
  thaw();
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->container, launch.container);
  EXPECT_EQ(end->exit.cause, ExitCause::kUnknown);
}

TEST_F(StuckContainers, FailToStartOnlyWhenNothingOfThemIsLeft) {
  // A monitor that leaves somebody in the container's place and goes.
  const Launch launch = bench_.shell("main", "", "1");
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  const std::string script = bench_.root() + "/monitor.sh";
  std::ofstream(script) << "#!/bin/sh\nsetsid sleep 1000 &\necho $! > " << own
                        << "/cgroup.procs\necho $! > " << ice_ << "/cgroup.procs\necho FROZEN > "
                        << ice_ << "/freezer.state\nexit 1\n"
                        << std::flush;
  bench_.restart({"/bin/sh", script});
  std::optional<Result<Started>> started;
  bench_.runtime().launch(launch, [&](Result<Started> done) { started = std::move(done); });
  ASSERT_TRUE(bench_.eventually([&] { return !bench_.troubles().empty(); }));
  EXPECT_FALSE(started.has_value());
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  thaw();
  ASSERT_TRUE(bench_.eventually([&] { return started.has_value(); }));
  ASSERT_FALSE(*started);
  EXPECT_THAT(started->error().message, HasSubstr("its monitor ended before it had started it"));
  EXPECT_TRUE(bench_.list()->empty());
  EXPECT_NE(::access(own.c_str(), F_OK), 0);
  EXPECT_TRUE(bench_.exits().empty());
}

TEST_F(StuckContainers, StartWhenTheEarlierAttemptHasGoneAndHoldNobodyUpMeanwhile) {
  const Launch launch = bench_.shell("main", "exec sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  const ProcessId left =
      ContainerDirectory::of(bench_.root(), launch.container).read_main()->process;
  freeze(left.pid);
  ASSERT_TRUE(*send_signal(supervisor_of(launch), SIGKILL));
  bench_.restart();
  std::optional<Result<Started>> started;
  bench_.runtime().launch(launch, [&](Result<Started> done) { started = std::move(done); });
  const Launch other = bench_.shell("other", "exit 3", "0");
  ASSERT_TRUE(bench_.start(other));
  EXPECT_TRUE(bench_.wait_for_exit());
  EXPECT_FALSE(started.has_value());
  thaw();
  EXPECT_TRUE(bench_.eventually([&] { return !is_running(left); }));
  ASSERT_TRUE(bench_.eventually([&] { return started.has_value(); }));
  EXPECT_TRUE(*started);
}

TEST_F(StuckContainers, KilledBeforeTheyCouldBeginNeverStart) {
  const Launch launch = bench_.shell("main", "sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  freeze(ContainerDirectory::of(bench_.root(), launch.container).read_main()->process.pid);
  ASSERT_TRUE(*send_signal(supervisor_of(launch), SIGKILL));
  bench_.restart();
  std::optional<Result<Started>> started;
  bench_.runtime().launch(launch, [&](Result<Started> done) { started = std::move(done); });
  ASSERT_TRUE(bench_.kill(launch.container));
  thaw();
  ASSERT_TRUE(bench_.eventually([&] { return started.has_value(); }));
  ASSERT_FALSE(*started);
  EXPECT_THAT(started->error().message, HasSubstr("it was killed before it had started"));
  EXPECT_TRUE(bench_.list()->empty());
}

}  // namespace
}  // namespace corehold
