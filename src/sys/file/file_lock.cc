// SPDX-License-Identifier: Apache-2.0
#include "sys/file/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "sys/file/disk_full.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

Error lock_failed(std::string_view call, const std::string& path) {
  return errno_error(fmt::format("{} {}", call, path), errno);
}

// What the file says, if it is a number.
std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) pid += text[i];
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  auto file = std::make_unique<Descriptor>(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file->is_open() && errno == EACCES) {
    return Error{Code::kIo, fmt::format("lock {}: EACCES: it belongs to another user; remove it if "
                                        "no agent of theirs runs",
                                        path)};
  }
  if (!file->is_open()) return lock_failed("open", path);
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return lock_failed("stat", path);
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kIo, fmt::format("lock {}: not a regular file", path)};
  }
  if (status.st_uid != ::geteuid()) {
    return Error{Code::kIo, fmt::format("lock {}: it belongs to user {}, not to {}; remove it if "
                                        "no agent of theirs runs",
                                        path, status.st_uid, ::geteuid())};
  }
  // Of the open file, not of the process: another open of the same file gives nothing up.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file->get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return lock_failed("lock", path);
    return Error{Code::kConflict, fmt::format("{} is held by {}", path, holder_of(file->get()))};
  }
  // In place, so that a full disk has the room; the lock holds without the number as well.
  const std::string text = fmt::format("{}\n", ::getpid());
  const int error = write_all(file->get(), text);
  if (error != 0 && !is_disk_full(error)) {
    errno = error;
    return lock_failed("write", path);
  }
  const auto size = static_cast<off_t>(error == 0 ? text.size() : 0);
  if (::ftruncate(file->get(), size) != 0) return lock_failed("truncate", path);
  return FileLock(std::move(file));
}

}  // namespace corehold
