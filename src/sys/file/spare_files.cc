// SPDX-License-Identifier: Apache-2.0
#include "sys/file/spare_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr rlim_t kSpare = 64;

}  // namespace

Result<void> check_spare_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const rlim_t spare = std::min(kSpare, limit.rlim_cur / 2);
  // The kernel gives the lowest number that is free: all below it are in use.
  const Descriptor lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!lowest.is_open() && errno != EMFILE) return errno_error("open /dev/null", errno);
  if (lowest.is_open() && static_cast<rlim_t>(lowest.get()) < limit.rlim_cur - spare) return {};
  return Error{Code::kIo,
               fmt::format("the agent has too many open files: it may have {}, and the last {} are "
                           "for other work; raise the limit (LimitNOFILE= of the service, ulimit "
                           "-n) and start the agent again",
                           limit.rlim_cur, spare)};
}

}  // namespace corehold
