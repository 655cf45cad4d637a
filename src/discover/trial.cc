// SPDX-License-Identifier: Apache-2.0
#include "discover/trial.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr int kWorked = 0;
constexpr int kRefused = 1;
constexpr rlim_t kCpuSeconds = 10;

[[noreturn]] void run_child(const std::function<bool()>& attempt) {
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) static_cast<void>(::dup2(null, STDERR_FILENO));
  const rlimit cpu{.rlim_cur = kCpuSeconds, .rlim_max = kCpuSeconds};
  static_cast<void>(::setrlimit(RLIMIT_CPU, &cpu));
  const rlimit core{.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &core));
  ::_exit(attempt() ? kWorked : kRefused);
}

}  // namespace

Result<bool> try_in_child(const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child < 0) return Error{Code::kIo, fmt::format("fork: {}", std::strerror(errno))};
  if (child == 0) run_child(attempt);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Error{Code::kIo, fmt::format("waitpid: {}", std::strerror(errno))};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kWorked) return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) return false;
  return Error{Code::kInvalid, "malformed in a way that hwloc does not survive"};
}

}  // namespace corehold
