// SPDX-License-Identifier: Apache-2.0
#include "sys/file/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "sys/descriptor.h"

namespace corehold {
namespace {

// Removes a temporary file; one that was renamed is not there any more.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Whether open(2) says that the file system has no O_TMPFILE (overlayfs before 6.3, NFS).
bool lacks_unnamed_files(int number) {
  return number == EOPNOTSUPP || number == EISDIR || number == EINVAL;
}

// The next two return as their system calls. A file of that name, left by a process killed
// before it renamed it, goes.
int create_anew(const std::string& path) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}
int give_name(int fd, const std::string& path) {
  const std::string itself = fmt::format("/proc/self/fd/{}", fd);
  ::unlink(path.c_str());
  return ::linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Replacing a device, a FIFO or a link by a file is never what was meant.
Result<void> check_replaceable(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return file_error("stat", path, errno);
  }
  if (S_ISDIR(status.st_mode)) return file_error("replace", path, EISDIR);
  if (S_ISREG(status.st_mode)) return {};
  const char* what = S_ISLNK(status.st_mode) ? "a symbolic link" : "not a regular file";
  return Error{Code::kIo, fmt::format("replace {}: it is {}", path, what)};
}

enum class Lasting {
  kSynced,  // on the disk before it has its name
  kCached,  // whenever the kernel likes
};

Result<void> put_in_place(const std::string& path, std::string_view content, Lasting lasting) {
  const Temporary temporary(fmt::format("{}.tmp-{}", path, ::getpid()));
  // Without a name, so that nothing is left of it when we are killed.
  int fd = ::open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  const bool is_named = fd < 0 && lacks_unnamed_files(errno);
  if (is_named) fd = create_anew(temporary.path());
  const Descriptor file(fd);
  if (!file.is_open()) return file_error("create", path, errno);
  if (const int error = write_all(file.get(), content); error != 0) {
    return file_error("write", path, error);
  }
  if (lasting == Lasting::kSynced && ::fsync(file.get()) != 0)
    return file_error("fsync", path, errno);
  if (!is_named && give_name(file.get(), temporary.path()) != 0) {
    return file_error("link", temporary.path(), errno);
  }
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) {
    return file_error("rename to", path, errno);
  }
  return {};
}

}  // namespace

Error errno_error(std::string_view attempted, int number, Code code) {
  return {code, fmt::format("{}: {}", attempted, errno_name(number)), number};
}

Error file_error(std::string_view call, const std::string& path, int number) {
  const Code code = number == ENOENT ? Code::kNotFound : Code::kIo;
  return errno_error(fmt::format("{} {}", call, path), number, code);
}

std::string errno_name(int number) {
  const char* name = ::strerrorname_np(number);
  return name != nullptr ? name : fmt::format("errno {}", number);
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<std::string> read_stream(int fd, const std::string& name, std::size_t max_size) {
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", name, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
    if (content.size() > max_size) {
      return Error{
          Code::kInvalid,
          fmt::format("read {}: larger than {} bytes, the most that is accepted", name, max_size)};
    }
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_size) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return file_error("open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error("stat", path, errno);
  if (S_ISDIR(status.st_mode)) return file_error("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kIo, fmt::format("read {}: not a regular file", path)};
  }
  return read_stream(file.get(), path, max_size);
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  // First, so that nothing is replaced where it could not be made to last.
  const std::string directory = directory_of(path);
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return file_error("open", directory, errno);
  TRY(check_replaceable(path));
  TRY(put_in_place(path, content, Lasting::kSynced));
  if (::fsync(opened.get()) != 0) return file_error("fsync", directory, errno);
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view content) {
  return put_in_place(path, content, Lasting::kCached);
}

}  // namespace corehold
