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

constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

Error lock_failed(std::string_view call, const std::string& path) {
  return errno_error(fmt::format("{} {}", call, path), errno);
}

bool is_of_root_or_caller(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

bool can_be_written_by_others(const struct stat& status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// What the file says, if it is a number.
std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) pid += text[i];
  return pid.empty() ? "another process" : "process " + pid;
}

Error held(int fd, const std::string& path) {
  return {Code::kConflict, fmt::format("{} is held by {}", path, holder_of(fd))};
}

// Of the open file, not of the process: another open of the same file gives nothing up.
struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

bool is_refused(int number) { return number == EAGAIN || number == EACCES; }

// Whoever can only read a file cannot have this lock on it.
bool is_locked_for_writing(int fd) {
  struct flock other = whole_file();
  return ::fcntl(fd, F_OFD_GETLK, &other) == 0 && other.l_type == F_WRLCK;
}

// The directory of a lock, open, once only its owner can put anything there.
Result<Descriptor> open_directory_of(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open()) return lock_failed("open", directory);
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return lock_failed("stat", directory);
  if (!is_of_root_or_caller(status)) {
    return Error{Code::kIo,
                 fmt::format("lock {}: {} belongs to user {}, who could keep this agent from "
                             "starting; chown it to {}",
                             path, directory, status.st_uid, ::geteuid())};
  }
  if (can_be_written_by_others(status)) {
    return Error{Code::kIo, fmt::format("lock {}: {} can be written by others, who could keep this "
                                        "agent from starting; chmod go-w {}",
                                        path, directory, directory)};
  }
  return opened;
}

}  // namespace

Result<FileLock> FileLock::holding(std::unique_ptr<Descriptor> file, const std::string& path) {
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

Result<FileLock> FileLock::take(const std::string& path) {
  const Descriptor directory = TRY(open_directory_of(path));
  const std::string name = path.substr(path.rfind('/') + 1);
  auto file = std::make_unique<Descriptor>(
      ::openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | kFlags, 0600));
  if (!file->is_open()) return lock_failed("open", path);
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return lock_failed("stat", path);
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kIo, fmt::format("lock {}: not a regular file; remove it", path)};
  }
  // Others may open the file only if somebody has changed its mode or owner.
  if (status.st_uid == ::geteuid() && (status.st_mode & 0777) != 0600) {
    if (::fchmod(file->get(), 0600) != 0) return lock_failed("chmod", path);
  }
  struct flock whole = whole_file();
  if (::fcntl(file->get(), F_OFD_SETLK, &whole) != 0) {
    if (!is_refused(errno)) return lock_failed("lock", path);
    return held(file->get(), path);
  }
  return holding(std::move(file), path);
}

Result<std::optional<FileLock>> FileLock::take_public(const std::string& path) {
  std::optional<FileLock> none;
  auto file = std::make_unique<Descriptor>(::open(path.c_str(), O_RDWR | O_CREAT | kFlags, 0644));
  const bool is_writable = file->is_open();
  if (!is_writable) file->reset(::open(path.c_str(), O_RDONLY | kFlags));
  struct stat status {};
  if (!file->is_open() || ::fstat(file->get(), &status) != 0) return none;
  // A second name may be of a file that another program of root has locked.
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || !is_of_root_or_caller(status) ||
      can_be_written_by_others(status)) {
    return none;
  }
  if (is_locked_for_writing(file->get())) return held(file->get(), path);
  struct flock whole = whole_file();
  if (!is_writable) return none;
  if (::fcntl(file->get(), F_OFD_SETLK, &whole) != 0) {
    // Taken by another agent in this moment, or locked for reading by anybody.
    if (is_locked_for_writing(file->get())) return held(file->get(), path);
    return none;
  }
  auto taken = holding(std::move(file), path);
  if (taken) none.emplace(*std::move(taken));
  return none;
}

}  // namespace corehold
