// SPDX-License-Identifier: Apache-2.0
#include "sys/process/process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <set>
#include <thread>

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

// A child of two threads, the first of which has ended.
class HeadlessChild {
 public:
  HeadlessChild() : pid_(::fork()) {
    if (pid_ != 0) return;
    std::thread([] {
      while (true) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  HeadlessChild(const HeadlessChild&) = delete;
  HeadlessChild& operator=(const HeadlessChild&) = delete;
  ~HeadlessChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  bool has_lost_its_head() const {
    for (int tries = 0; tries < 300'000; ++tries) {
      if (status_of(pid_)->state == 'Z') return true;
      ::usleep(1000);
    }
    return false;
  }

 private:
  pid_t pid_;
};

TEST(Processes, WhoseFirstThreadHasEndedRunOn) {
  const HeadlessChild child;
  ASSERT_TRUE(child.has_lost_its_head());
  EXPECT_EQ(status_of(child.pid())->threads, 2);
  EXPECT_FALSE(has_ended(child.pid()));
  EXPECT_TRUE(has_thread_ended(child.pid()));
  EXPECT_TRUE(is_running(*identify(child.pid())));
  EXPECT_THAT(descendants_of(::getpid()), testing::Contains(child.pid()));
}

TEST(Processes, WhoseFirstThreadHasEndedAreKilled) {
  const HeadlessChild child;
  ASSERT_TRUE(child.has_lost_its_head());
  const auto only = [&]() -> Result<std::set<pid_t>> { return std::set<pid_t>{child.pid()}; };
  EXPECT_EQ(*kill_members(only), 1U);
  siginfo_t ended{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ended.si_status, SIGKILL);
  EXPECT_TRUE(has_ended(child.pid()));
  EXPECT_EQ(*kill_members(only), 0U);
}

TEST(Processes, WhoAreNoMembersAnyMoreAreNotKilled) {
  const Child child;
  int asked = 0;
  const auto once = [&]() -> Result<std::set<pid_t>> {
    return asked++ == 0 ? std::set<pid_t>{child.pid()} : std::set<pid_t>{};
  };
  EXPECT_EQ(*kill_members(once), 1U);
  EXPECT_FALSE(has_ended(child.pid()));
}

TEST(Processes, NeverKillThemselves) {
  const auto self = []() -> Result<std::set<pid_t>> { return std::set<pid_t>{::getpid()}; };
  EXPECT_EQ(*kill_members(self), 1U);
}

TEST(Processes, AreFoundFromTheirAncestorsWithoutThoseOfOthers) {
  const Child mine;
  const Child other;
  const auto found =
      descendants_of(::getpid(), [&](pid_t, pid_t child) { return child != other.pid(); });
  EXPECT_THAT(found, testing::Contains(mine.pid()));
  EXPECT_THAT(found, testing::Not(testing::Contains(other.pid())));
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

TEST(Processes, AreKilledByAskingForThemTwiceHoweverManyThereAre) {
  std::deque<Child> children(200);
  int asked = 0;
  const auto all = [&]() -> Result<std::set<pid_t>> {
    ++asked;
    std::set<pid_t> numbers;
    for (const Child& child : children) numbers.insert(child.pid());
    return numbers;
  };
  EXPECT_EQ(*kill_members(all), children.size());
  EXPECT_EQ(asked, 2);
  for (const Child& child : children) {
    siginfo_t end{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &end, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(end.si_status, SIGKILL);
  }
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
  pid_t thread = 0;
  std::optional<pid_t> process;
  std::thread([&] {
    thread = ::gettid();
    process = process_of(thread);
  }).join();
  EXPECT_NE(thread, ::getpid());
  EXPECT_EQ(process, ::getpid());
  EXPECT_FALSE(process_of(-1));
}

TEST(Boot, HasAName) { EXPECT_FALSE(boot_id().empty()); }

}  // namespace
}  // namespace corehold
