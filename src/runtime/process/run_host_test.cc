// SPDX-License-Identifier: Apache-2.0
//
// `corehold run` on the real kernel: the child of a client becomes a container.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

TEST_F(ProcessContainers, TakeInTheChildOfAClient) {
  std::array<int, 2> gate{};
  std::array<int, 2> born{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  ASSERT_EQ(::pipe(born.data()), 0);
  const pid_t client = ::fork();
  if (client == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      char go = 0;
      static_cast<void>(::read(gate[0], &go, 1));
      ::execlp("sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
    static_cast<void>(::write(born[1], &child, sizeof child));
    ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(born[0], &child, sizeof child), ssize_t{sizeof child});
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = child;
  launch.attached_to = client;
  // It has booked so much, and has no limit.
  launch.placement.limits.memory_limit = 1 << 20;
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(allowed_cpus(child), "1");
  EXPECT_EQ(allowed_cpus(client), all_cpus());
  const auto has_no_limit = [&] {
    const auto max = read_kernel_file(bench_.cgroup_of("memory", launch.container) +
                                      (bench_.is_v2() ? "/memory.max" : "/memory.limit_in_bytes"));
    return !max || *max == "max";
  };
  EXPECT_TRUE(has_no_limit());
  ASSERT_EQ(::write(gate[1], "g", 1), 1);
  bench_.restart();
  EXPECT_TRUE(bench_.look(launch.container)->running);
  ASSERT_TRUE(bench_.update(launch.container, Placement{.cpus = *CpuSet::parse("0"),
                                                        .limits = {.memory_limit = 1 << 20}}));
  EXPECT_EQ(allowed_cpus(child), "0");
  EXPECT_TRUE(has_no_limit());
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit.cause, ExitCause::kUnknown);
  EXPECT_TRUE(is_gone(child));
}

// A client with a child that is to become a container, and with what else it has.
class Client {
 public:
  struct Family {
    pid_t child = 0;       // of the client
    pid_t grandchild = 0;  // of the child
    pid_t other = 0;       // of the client too
    pid_t orphan = 0;      // of the other one, which does not stay
  };

  Client() {
    std::array<int, 2> born{};
    EXPECT_EQ(::pipe(born.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) live(born[1]);
    std::array<pid_t, 4> told{};
    EXPECT_EQ(::read(born[0], told.data(), sizeof told), ssize_t{sizeof told});
    family_ = {.child = told[0], .grandchild = told[1], .other = told[2], .orphan = told[3]};
    for (const int end : born) ::close(end);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    for (const pid_t pid : {family_.grandchild, family_.child, family_.other, family_.orphan}) {
      ::kill(pid, SIGKILL);
    }
    end();
  }

  pid_t pid() const { return pid_; }
  const Family& family() const { return family_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  static pid_t start() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) ::pause();
    }
    return pid;
  }
  [[noreturn]] static void live(int out) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    static_cast<void>(std::signal(SIGCHLD, SIG_IGN));
    Family family;
    std::array<int, 2> told{};
    static_cast<void>(::pipe(told.data()));
    family.child = ::fork();
    if (family.child == 0) {
      const pid_t grandchild = start();
      static_cast<void>(::write(told[1], &grandchild, sizeof grandchild));
      while (true) ::pause();
    }
    static_cast<void>(::read(told[0], &family.grandchild, sizeof family.grandchild));
    family.other = ::fork();
    if (family.other == 0) {
      const pid_t orphan = start();
      static_cast<void>(::write(told[1], &orphan, sizeof orphan));
      while (true) ::pause();
    }
    static_cast<void>(::read(told[0], &family.orphan, sizeof family.orphan));
    const std::array<pid_t, 4> all{family.child, family.grandchild, family.other, family.orphan};
    static_cast<void>(::write(out, all.data(), sizeof all));
    while (true) ::pause();
  }

  pid_t pid_ = 0;
  Family family_{};
};

TEST_F(ProcessContainers, LeaveWhatAClientHadBeforeAlone) {
  Client client;
  const auto& family = client.family();
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = family.child;
  launch.attached_to = client.pid();
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  bench_.restart();
  ASSERT_TRUE(bench_.list());  // it is remembered
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(allowed_cpus(family.child), "1");
  EXPECT_EQ(allowed_cpus(family.grandchild), "1");
  EXPECT_EQ(allowed_cpus(family.other), all_cpus());
  EXPECT_EQ(allowed_cpus(family.orphan), all_cpus());
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  // What comes to the client from them is not of the container either.
  ::kill(family.other, SIGKILL);
  ASSERT_TRUE(bench_.eventually([&] { return status_of(family.orphan)->parent == client.pid(); }));
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(allowed_cpus(family.orphan), all_cpus());
  ASSERT_TRUE(bench_.kill(launch.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_TRUE(is_gone(family.grandchild));
  EXPECT_FALSE(has_ended(family.orphan));
}

TEST_F(ProcessContainers, HaveAClientOfTheirOwn) {
  Client client;
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = client.family().child;
  launch.attached_to = client.pid();
  ASSERT_TRUE(bench_.start(launch));
  Launch second = bench_.shell("second", "", "0");
  second.attached = client.family().other;
  second.attached_to = client.pid();
  const auto started = bench_.start(second);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kConflict);
  EXPECT_THAT(started.error().message, HasSubstr("is the client of container main (pod "));
  EXPECT_EQ(allowed_cpus(client.family().other), all_cpus());
}

TEST_F(ProcessContainers, InsideOfOneAnotherAreLeftToTheirOwnClient) {
  Client client;
  const auto& family = client.family();
  Launch outer = bench_.shell("outer", "", "1");
  outer.attached = family.child;
  outer.attached_to = client.pid();
  ASSERT_TRUE(bench_.start(outer));
  Launch inner = bench_.shell("inner", "", "0");
  inner.attached = family.grandchild;
  inner.attached_to = family.child;
  ASSERT_TRUE(bench_.start(inner));
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_FALSE(bench_.look(outer.container)->strayed);
    EXPECT_FALSE(bench_.look(inner.container)->strayed);
    ASSERT_TRUE(bench_.update(outer.container, "1"));
    EXPECT_EQ(allowed_cpus(family.child), "1");
    EXPECT_EQ(allowed_cpus(family.grandchild), "0");
    ASSERT_TRUE(bench_.update(inner.container, "0"));
    EXPECT_EQ(allowed_cpus(family.child), "1");
    EXPECT_EQ(allowed_cpus(family.grandchild), "0");
    bench_.restart();
  }
  // The outer one takes the inner one's client with it, and so the inner one.
  ASSERT_TRUE(bench_.list());
  ASSERT_TRUE(bench_.kill(outer.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_TRUE(is_gone(family.grandchild));
  EXPECT_FALSE(has_ended(family.other));
}

TEST_F(ProcessContainers, WhoseClientHasGoneAreNotTakenInByTheContainerAroundThem) {
  Client client;
  const auto& family = client.family();
  Launch outer = bench_.shell("outer", "", "1");
  outer.attached = family.child;
  outer.attached_to = client.pid();
  ASSERT_TRUE(bench_.start(outer));
  Launch inner = bench_.shell("inner", "", "0");
  inner.attached = family.grandchild;
  inner.attached_to = family.child;
  ASSERT_TRUE(bench_.start(inner));
  // The loop does not turn between the end of the inner client and the update.
  ::kill(family.child, SIGKILL);
  while (status_of(family.grandchild) && status_of(family.grandchild)->parent == family.child) {
    ::usleep(1000);
  }
  bench_.runtime().place(outer.container, {.cpus = *CpuSet::parse("1")},
                         [](const Result<void>&) {});
  EXPECT_EQ(allowed_cpus(family.grandchild), "0");
  ASSERT_TRUE(bench_.wait_for_exit());
  EXPECT_TRUE(is_gone(family.grandchild));
}

TEST_F(ProcessContainers, DoNotTakeInSomebodyElsesProcess) {
  Launch launch = bench_.shell("main", "", "1");
  launch.attached = ::getppid();
  launch.attached_to = ::getpid();
  const auto started = bench_.start(launch);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("is no child of process"));
  EXPECT_TRUE(bench_.list()->empty());
}

}  // namespace
}  // namespace corehold
