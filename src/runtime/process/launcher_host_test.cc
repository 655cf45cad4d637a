// SPDX-License-Identifier: Apache-2.0
//
// A launcher as a process of its own, and a runtime that asks it.
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "runtime/monitor/launcher.h"
#include "runtime/process/process_containers_testing.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class ContainersOfALauncher : public ProcessContainers {
 protected:
  ContainersOfALauncher() : socket_(bench_.root() + "/launcher.sock") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_.copy(static_cast<char*>(address.sun_path), socket_.size());
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener, 8) == 0);
    launcher_ = ::fork();
    CHECK(launcher_ >= 0);
    if (launcher_ == 0) {
      static_cast<void>(serve_launcher(listener, {.root = bench_.root()}));
      ::_exit(1);
    }
    ::close(listener);
    bench_.restart(Launcher(socket_));
  }
  ~ContainersOfALauncher() override { end_launcher(); }

  void end_launcher() {
    if (launcher_ == 0) return;
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
    launcher_ = 0;
  }

  std::string socket_;
  pid_t launcher_ = 0;
};

TEST_F(ContainersOfALauncher, HaveMonitorsThatAreItsChildren) {
  const Launch launch = bench_.shell("main", "echo hello; sleep 1000", all_cpus());
  ASSERT_TRUE(bench_.start(launch));
  EXPECT_TRUE(writes(launch, "hello"));
  const auto monitor = status_of(supervisor_of(launch).pid);
  ASSERT_TRUE(monitor);
  EXPECT_EQ(monitor->parent, launcher_);
}

// Those that glibc keeps for itself included.
TEST_F(ContainersOfALauncher, IgnoreAndBlockNoSignals) {
  const Launch launch =
      bench_.shell("main", "grep -E '^Sig(Ign|Blk):' /proc/self/status; echo done", all_cpus());
  ASSERT_TRUE(bench_.start(launch));
  EXPECT_TRUE(writes(launch, "done"));
  EXPECT_EQ(bench_.log_of(launch), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\ndone\n");
}

TEST_F(ContainersOfALauncher, AreToldOfWhenTheyEnd) {
  ASSERT_TRUE(bench_.start(bench_.shell("main", "exit 7", all_cpus())));
  const auto seen = bench_.wait_for_exit();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->exit.code, 7);
}

TEST_F(ContainersOfALauncher, OutliveIt) {
  const Launch launch = bench_.shell("main", "sleep 1000", all_cpus());
  ASSERT_TRUE(bench_.start(launch));
  end_launcher();
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
}

TEST_F(ContainersOfALauncher, HaveMonitorsOnTheCpusOfTheAgent) {
  cpu_set_t before;
  cpu_set_t first;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  ASSERT_EQ(::sched_setaffinity(0, sizeof first, &first), 0);
  const Launch launch = bench_.shell("main", "sleep 1000", all_cpus());
  const auto started = bench_.start(launch);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(allowed_cpus(supervisor_of(launch).pid), "0");
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  EXPECT_EQ(allowed_cpus(main->process.pid), all_cpus());
}

TEST_F(ContainersOfALauncher, CannotBeStartedWithoutIt) {
  end_launcher();
  const auto started = bench_.start(bench_.shell("main", "sleep 1000", all_cpus()));
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message,
              HasSubstr(fmt::format("the launcher at {}: connect: ECONNREFUSED", socket_)));
}

TEST_F(ContainersOfALauncher, AreOnlyThoseOfItsRoot) {
  const auto started = Launcher(socket_).start_monitor({}, "/etc/containers/pod/main");
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("/etc/containers/pod/main is not below"));
  const auto outside =
      Launcher(socket_).start_monitor({}, bench_.root() + "/containers/../../pod/main");
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().message, HasSubstr("is not below"));
}

TEST_F(ContainersOfALauncher, HaveVolumesInMemoryThatItMounts) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const std::string volume = bench_.root() + "/volumes/uid/v";
  ASSERT_TRUE(make_directories(volume, 0755));
  struct stat plain {};
  struct stat mounted {};
  ASSERT_EQ(::stat(volume.c_str(), &plain), 0);
  const auto made = Launcher(socket_).mount_memory(volume, 1 << 20);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(::stat(volume.c_str(), &mounted), 0);
  EXPECT_NE(mounted.st_dev, plain.st_dev);
  const auto gone = Launcher(socket_).unmount(volume);
  EXPECT_TRUE(gone) << gone.error().message;
  ASSERT_EQ(::stat(volume.c_str(), &mounted), 0);
  EXPECT_EQ(mounted.st_dev, plain.st_dev);
  EXPECT_FALSE(Launcher(socket_).mount_memory("/tmp", std::nullopt));
}

}  // namespace
}  // namespace corehold
