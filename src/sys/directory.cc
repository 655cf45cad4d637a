// SPDX-License-Identifier: Apache-2.0
#include "sys/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file.h"

namespace corehold {
namespace {

Error failed(std::string_view call, const std::string& path, int number) {
  const Code code = number == ENOENT ? Code::kNotFound : Code::kIo;
  return {code, fmt::format("{} {}: {}", call, path, errno_name(number))};
}

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> names_in(DIR* stream) {
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> remove_in(int parent, const std::string& name, const std::string& shown, dev_t device);

Result<void> empty_directory(int fd, const std::string& shown, dev_t device) {
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return failed("dup", shown, errno);
  const Stream stream(::fdopendir(duplicate), ::closedir);
  if (!stream) {
    const int error = errno;
    ::close(duplicate);
    return failed("open", shown, error);
  }
  for (const std::string& name : names_in(stream.get())) {
    TRY(remove_in(fd, name, fmt::format("{}/{}", shown, name), device));
  }
  return {};
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree is
Result<void> remove_in(int parent, const std::string& name, const std::string& shown,
                       dev_t device) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return failed("remove", shown, errno);
  {
    const Descriptor child(
        ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.is_open()) return errno == ENOENT ? Result<void>{} : failed("open", shown, errno);
    struct stat status {};
    if (::fstat(child.get(), &status) != 0) return failed("stat", shown, errno);
    if (status.st_dev != device) return failed("remove", shown, EBUSY);
    TRY(empty_directory(child.get(), shown, device));
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return failed("remove", shown, errno);
}

}  // namespace

Result<std::vector<std::string>> entries_of(const std::string& path) {
  const Stream stream(::opendir(path.c_str()), ::closedir);
  if (!stream) return failed("open", path, errno);
  return names_in(stream.get());
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      // A parent on a read-only file system says EROFS even when it is there.
      struct stat status {};
      const int error = errno;
      if (::stat(part.c_str(), &status) != 0) return failed("make directory", part, error);
    }
    if (slash == std::string::npos) break;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return failed("stat", path, errno);
  if (!S_ISDIR(status.st_mode)) return failed("make directory", path, ENOTDIR);
  return {};
}

Result<void> remove_tree(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failed("stat", path, errno);
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  // The parent's device, so that a mount point is seen to be one.
  struct stat around {};
  if (::stat(parent.c_str(), &around) != 0) return failed("stat", parent, errno);
  if (S_ISDIR(status.st_mode) && status.st_dev != around.st_dev) {
    return failed("remove", path, EBUSY);
  }
  const Descriptor opened(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return failed("open", parent, errno);
  return remove_in(opened.get(), name, path, around.st_dev);
}

}  // namespace corehold
