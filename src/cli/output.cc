// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/code.h"

namespace corehold {
namespace {

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int answer(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return kExitDone;
  complain(fmt::format("write to standard output: {}", std::strerror(error)));
  return kExitFailed;
}

void complain(std::string_view message) {
  static_cast<void>(write_all(STDERR_FILENO, fmt::format("corehold: {}\n", message)));
}

int fail(const Error& error) {
  complain(error.message);
  return kExitFailed;
}

void ignore_broken_pipes() { static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); }

}  // namespace corehold
