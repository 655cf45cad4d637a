// SPDX-License-Identifier: Apache-2.0
//
// Signals and the terminal are tested with `corehold run`.
#include "sys/process/held_child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace corehold {
namespace {

// The exit code of `body`, run in a process of its own, since it changes its process.
int in_a_process(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int run_held(const std::vector<std::string>& command) {
  auto held = HeldChild::fork(command);
  if (!held) return 200;
  const auto code = held->run();
  return code ? *code : held->failure().exit_code;
}

TEST(HeldChild, EndsWithTheCommandsCode) {
  EXPECT_EQ(in_a_process([] { return run_held({"sh", "-c", "exit 7"}); }), 7);
  EXPECT_EQ(in_a_process([] { return run_held({"sh", "-c", "kill -9 $$"}); }), 128 + SIGKILL);
  EXPECT_EQ(in_a_process([] { return run_held({"no-such-command"}); }), kExitNotFound);
  EXPECT_EQ(in_a_process([] { return run_held({"/tmp"}); }), kExitNotExecutable);
}

// It reads a pipe until the process that stood for the command has ended.
TEST(HeldChild, DoesNotWaitForWhatTheCommandLeaves) {
  EXPECT_EQ(in_a_process([] {
              int ends[2];
              if (::pipe2(ends, O_CLOEXEC) != 0 || ::dup2(ends[0], 8) != 8) return 200;
              return run_held({"sh", "-c", "cat <&8 & exit 3"});
            }),
            3);
}

TEST(HeldChild, MayRunOnEveryCpuAndTakesSigpipe) {
  const int code = in_a_process([] {
    cpu_set_t before;
    ::sched_getaffinity(0, sizeof(before), &before);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    ::signal(SIGPIPE, SIG_IGN);
    return run_held({"sh", "-c",
                     "test $(nproc) -ge " + std::to_string(CPU_COUNT(&before)) +
                         " && grep -q '^SigIgn:.*[02468ace]...$' /proc/self/status"});
  });
  EXPECT_EQ(code, 0);
}

TEST(HeldChild, IsKilledWhenItIsNeverLetGo) {
  EXPECT_EQ(in_a_process([] {
              pid_t pid = 0;
              {
                auto held = HeldChild::fork({"true"});
                pid = held->pid();
              }
              return ::kill(pid, 0) == 0 ? 1 : 0;
            }),
            0);
}

TEST(LookFor, SaysWhatAShellWouldSay) {
  EXPECT_FALSE(look_for("sh"));
  EXPECT_FALSE(look_for("/bin/sh"));
  EXPECT_EQ(look_for("no-such-command")->message, "no-such-command: command not found");
  EXPECT_EQ(look_for("no-such-command")->exit_code, 127);
  EXPECT_EQ(look_for("./no-such-file")->message, "./no-such-file: No such file or directory");
  EXPECT_EQ(look_for("/tmp")->exit_code, 126);
  EXPECT_EQ(look_for("")->exit_code, 127);
}

}  // namespace
}  // namespace corehold
