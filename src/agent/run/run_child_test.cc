// SPDX-License-Identifier: Apache-2.0
#include "agent/run/run_child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"

namespace corehold {
namespace {

using testing::HasSubstr;

// A child of this process that waits; it becomes another user when told to.
class RunChildTest : public testing::Test {
 protected:
  RunChildTest() {
    CHECK(::pipe(to_.data()) == 0);
    CHECK(::pipe(from_.data()) == 0);
    child_ = ::fork();
    CHECK(child_ >= 0);
    if (child_ == 0) {
      char byte = 0;
      while (::read(to_[0], &byte, 1) == 1) {
        byte = ::setresuid(65534, 65534, 65534) == 0 ? 'y' : 'n';
        static_cast<void>(!::write(from_[1], &byte, 1));
      }
      ::_exit(0);
    }
  }
  ~RunChildTest() override {
    end();
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
  }

  void end() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  bool change_user() {
    char byte = 'u';
    return ::write(to_[1], &byte, 1) == 1 && ::read(from_[0], &byte, 1) == 1 && byte == 'y';
  }

  const Peer caller_{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()};
  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t child_ = 0;
};

TEST_F(RunChildTest, IsTheCallersOwn) {
  const auto held = RunChild::hold(caller_, child_);
  ASSERT_TRUE(held) << held.error().message;
  const auto attached = held->attach();
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_EQ(attached->child, child_);
  EXPECT_EQ(attached->client, ::getpid());
}

TEST_F(RunChildTest, IsAChildOfTheCallerAndOfItsUser) {
  EXPECT_THAT(RunChild::hold(caller_, ::getppid()).error().message,
              HasSubstr("it is no child of the caller"));
  Peer other = caller_;
  ++other.uid;
  EXPECT_THAT(RunChild::hold(other, child_).error().message,
              HasSubstr("it belongs to another user than the caller"));
  EXPECT_THAT(RunChild::hold({.pid = 0}, child_).error().message,
              HasSubstr("another PID namespace"));
}

TEST_F(RunChildTest, IsNotTakenWhenItHasGone) {
  const auto held = RunChild::hold(caller_, child_);
  ASSERT_TRUE(held) << held.error().message;
  const pid_t gone = child_;
  ::kill(child_, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOWAIT), 0);
  // Not even while its number is still its own.
  EXPECT_EQ(held->attach().error().code, Code::kNotFound);
  end();
  EXPECT_EQ(held->attach().error().code, Code::kNotFound);
  EXPECT_THAT(RunChild::hold(caller_, gone).error().message, HasSubstr("there is no such process"));
}

TEST_F(RunChildTest, IsNotTakenWhenItHasBecomeAnotherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto held = RunChild::hold(caller_, child_);
  ASSERT_TRUE(held) << held.error().message;
  ASSERT_TRUE(change_user());
  EXPECT_THAT(held->attach().error().message,
              HasSubstr("it belongs to another user than the caller"));
}

}  // namespace
}  // namespace corehold
