// SPDX-License-Identifier: Apache-2.0
#include "store/block_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "sys/file/disk_full.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::uint64_t kStep = std::uint64_t{256} << 10U;  // so that most calls ask nothing

}  // namespace

BlockReserve::BlockReserve(const std::string& path)
    // O_NONBLOCK: a FIFO in its place is not waited for.
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

Result<void> BlockReserve::ensure(std::uint64_t bytes) {
  struct stat status {};
  if (!file_.is_open() || ::fstat(file_.get(), &status) != 0) return {};
  return ensure_size(static_cast<std::uint64_t>(status.st_size) + bytes);
}

Result<void> BlockReserve::ensure_size(std::uint64_t size) {
  if (!file_.is_open() || size <= end_) return {};
  int error = 0;
  // A little more than asked for where there is room, else just that.
  for (const std::uint64_t more : {kStep, std::uint64_t{0}}) {
    const std::uint64_t end = size + more;
    if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end)) == 0) {
      end_ = end;
      return {};
    }
    error = errno;
    if (!is_disk_full(error)) return {};
  }
  return errno_error(fmt::format("{}: set {} bytes aside", path_, size), error);
}

}  // namespace corehold
