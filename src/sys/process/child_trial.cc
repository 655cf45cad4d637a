// SPDX-License-Identifier: Apache-2.0
#include "sys/process/child_trial.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "sys/descriptor.h"

namespace corehold {
namespace {

constexpr int kTrue = 0;
constexpr int kFalse = 1;
constexpr rlim_t kCpuSeconds = 10;

[[noreturn]] void run_child(const std::function<bool()>& attempt, int complaints) {
  static_cast<void>(::dup2(complaints, STDERR_FILENO));
  const rlimit cpu{.rlim_cur = kCpuSeconds, .rlim_max = kCpuSeconds};
  static_cast<void>(::setrlimit(RLIMIT_CPU, &cpu));
  const rlimit core{.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &core));
  ::_exit(attempt() ? kTrue : kFalse);
}

Error io_error(const char* call) {
  return Error{Code::kIo, fmt::format("{}: {}", call, std::strerror(errno)), errno};
}

}  // namespace

Result<Verdict> try_in_child(const std::function<bool()>& attempt) {
  const Descriptor complaints(::memfd_create("complaints", MFD_CLOEXEC));
  if (!complaints.is_open()) return io_error("memfd_create");
  const pid_t child = ::fork();
  if (child < 0) return io_error("fork");
  if (child == 0) run_child(attempt, complaints.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return io_error("waitpid");
  }
  if (!WIFEXITED(status)) return Verdict::kDied;
  if (WEXITSTATUS(status) == kFalse) return Verdict::kRefused;
  if (WEXITSTATUS(status) != kTrue) return Verdict::kDied;
  struct stat written {};
  if (::fstat(complaints.get(), &written) != 0) return io_error("fstat");
  return written.st_size == 0 ? Verdict::kAccepted : Verdict::kComplained;
}

}  // namespace corehold
