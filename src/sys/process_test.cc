// SPDX-License-Identifier: Apache-2.0
#include "sys/process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/descriptor.h"

namespace corehold {
namespace {

// A child that waits to be killed, and is.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      // A name that is hard to read in /proc/PID/stat.
      ::prctl(PR_SET_NAME, "a) R 1 (b");
      while (true) ::pause();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

TEST(Processes, AreToldByTheirStart) {
  Child child;
  const auto process = identify(child.pid());
  ASSERT_TRUE(process);
  EXPECT_EQ(status_of(child.pid())->parent, ::getpid());
  EXPECT_TRUE(is_running(*process));
  EXPECT_FALSE(is_running({.pid = child.pid(), .start_time = process->start_time + 1}));
  child.end();
  EXPECT_FALSE(is_running(*process));
  EXPECT_FALSE(identify(process->pid));
}

TEST(Processes, ThatHaveEndedDoNotRunEvenBeforeTheyAreReaped) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  const auto process = identify(pid);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_TRUE(process);
  EXPECT_FALSE(is_running(*process));
  const auto family = descendants_of(::getpid());
  EXPECT_EQ(std::count(family.begin(), family.end(), pid), 0);
  ::waitpid(pid, nullptr, 0);
}

TEST(Processes, AreFoundFromTheirAncestors) {
  std::array<int, 2> born{};
  ASSERT_EQ(::pipe(born.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      while (true) ::pause();
    }
    static_cast<void>(::write(born[1], &grandchild, sizeof grandchild));
    while (true) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(born[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  const auto family = descendants_of(::getpid());
  EXPECT_EQ(std::count(family.begin(), family.end(), child), 1);
  EXPECT_EQ(std::count(family.begin(), family.end(), grandchild), 1);
  EXPECT_EQ(std::count(family.begin(), family.end(), ::getpid()), 0);
  EXPECT_THAT(descendants_of(child), testing::ElementsAre(grandchild));
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : born) ::close(end);
}

TEST(Processes, AreWatchedThroughADescriptor) {
  Child child;
  const auto opened = open_pidfd(*identify(child.pid()));
  ASSERT_TRUE(opened);
  const Descriptor fd(*opened);
  pollfd watched{.fd = fd.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  ::kill(child.pid(), SIGKILL);
  EXPECT_EQ(::poll(&watched, 1, 10'000), 1);
}

TEST(Processes, WithTheNumberOfAnotherAreNotTouched) {
  Child child;
  ProcessId other = *identify(child.pid());
  other.start_time += 1;
  EXPECT_EQ(open_pidfd(other).error().code, Code::kNotFound);
  EXPECT_FALSE(*send_signal(other, SIGKILL));
  EXPECT_TRUE(is_running(*identify(child.pid())));
  EXPECT_FALSE(*send_signal({}, SIGKILL));
}

TEST(Processes, GetSignals) {
  Child child;
  const ProcessId process = *identify(child.pid());
  EXPECT_TRUE(*send_signal(process, SIGTERM));
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, 0), child.pid());
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_FALSE(*send_signal(process, SIGTERM));
}

TEST(Processes, HaveThreads) {
  EXPECT_THAT(threads_of(::getpid()), testing::Contains(::getpid()));
  EXPECT_THAT(threads_of(-1), testing::IsEmpty());
}

TEST(Boot, HasAName) { EXPECT_FALSE(boot_id().empty()); }

}  // namespace
}  // namespace corehold
