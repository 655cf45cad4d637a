// SPDX-License-Identifier: Apache-2.0
#include "sys/file/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using DirectoryStream = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> names_in(DIR* stream) {
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> names_in(int fd, const std::string& shown) {
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return file_error("dup", shown, errno);
  const DirectoryStream stream(::fdopendir(duplicate), ::closedir);
  if (!stream) {
    const int error = errno;
    ::close(duplicate);
    return file_error("open", shown, error);
  }
  return names_in(stream.get());
}

// Removes a tree of any depth with few descriptors: it has only the directory open that it is
// in, and finds back by "..", which must be the one it came from.
class TreeRemoval {
 public:
  TreeRemoval(std::string path, dev_t device) : path_(std::move(path)), device_(device) {}

  Result<void> remove(int parent, const std::string& name) {
    if (TRY(try_unlink(parent, name))) return {};
    if (!TRY(enter(parent, name))) return {};
    while (true) {
      if (!levels_.back().names.empty()) {
        const std::string next = std::move(levels_.back().names.back());
        levels_.back().names.pop_back();
        if (!TRY(try_unlink(here_.get(), next))) TRY(enter(here_.get(), next));
      } else if (levels_.size() > 1) {
        TRY(leave());
      } else {
        break;
      }
    }
    here_.close();
    levels_.clear();
    return remove_empty(parent, name);
  }

 private:
  struct Level {
    std::string name;
    ino_t inode;
    std::vector<std::string> names;  // still to be removed
  };

  Error failed_at(std::string_view call, const std::string& name, int number) const {
    std::string path = path_;
    for (std::size_t i = 1; i < levels_.size(); ++i) path += "/" + levels_[i].name;
    return file_error(call, levels_.empty() ? path : path + "/" + name, number);
  }

  // False: it is a directory.
  Result<bool> try_unlink(int parent, const std::string& name) const {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    if (errno == EISDIR || errno == EPERM) return false;
    return failed_at("remove", name, errno);
  }

  // False: it has gone.
  Result<bool> enter(int parent, const std::string& name) {
    Descriptor child(
        ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.is_open() && errno == ENOENT) return false;
    if (!child.is_open()) return failed_at("open", name, errno);
    struct stat status {};
    if (::fstat(child.get(), &status) != 0) return failed_at("stat", name, errno);
    if (status.st_dev != device_) return failed_at("remove", name, EBUSY);
    auto names = TRY(names_in(child.get(), name));
    levels_.push_back({.name = name, .inode = status.st_ino, .names = std::move(names)});
    here_.reset(child.release());
    return true;
  }

  Result<void> leave() {
    const std::string name = std::move(levels_.back().name);
    levels_.pop_back();
    Descriptor above(::openat(here_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!above.is_open() || ::fstat(above.get(), &status) != 0) {
      return failed_at("open", name + "/..", errno);
    }
    // It was moved by another process meanwhile.
    if (status.st_dev != device_ || status.st_ino != levels_.back().inode) {
      return failed_at("remove", name, EBUSY);
    }
    here_.reset(above.release());
    return remove_empty(here_.get(), name);
  }

  Result<void> remove_empty(int parent, const std::string& name) const {
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    return failed_at("remove", name, errno);
  }

  std::string path_;
  dev_t device_;
  Descriptor here_{-1};
  std::vector<Level> levels_{};
};

int open_inside(int directory, const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? 0644 : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
}

}  // namespace

Result<std::vector<std::string>> entries_of(const std::string& path) {
  const DirectoryStream stream(::opendir(path.c_str()), ::closedir);
  if (!stream) return file_error("open", path, errno);
  return names_in(stream.get());
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      // A parent on a read-only file system says EROFS even when it is there.
      struct stat status {};
      const int error = errno;
      if (::stat(part.c_str(), &status) != 0) return file_error("make directory", part, error);
    }
    if (slash == std::string::npos) break;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return file_error("stat", path, errno);
  if (!S_ISDIR(status.st_mode)) return file_error("make directory", path, ENOTDIR);
  return {};
}

Result<void> make_private_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash != 0 && slash != std::string::npos) TRY(make_directories(path.substr(0, slash), 0755));
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return file_error("make directory", path, errno);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return file_error("stat", path, errno);
  if (!S_ISDIR(status.st_mode)) return file_error("make directory", path, ENOTDIR);
  if ((status.st_mode & 0777U) == 0700 || ::chmod(path.c_str(), 0700) == 0) return {};
  return file_error("change the mode of", path, errno);
}

Result<void> make_inside(const std::string& directory, const std::string& below, Leaf leaf) {
  const std::string shown = fmt::format("{}/{}", directory, below);
  const Descriptor top(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.is_open()) return file_error("open", directory, errno);
  for (std::size_t begin = 0; begin < below.size();) {
    const std::size_t end = std::min(below.find('/', begin), below.size());
    const std::string part = below.substr(begin, end - begin);
    const std::string made = below.substr(0, end);
    const std::string around = begin == 0 ? "." : below.substr(0, begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (begin > below.size() && leaf == Leaf::kFile) {
      const Descriptor file(open_inside(top.get(), made, O_WRONLY | O_CREAT | O_EXCL));
      if (!file.is_open() && errno != EEXIST) return file_error("create", shown, errno);
      continue;
    }
    const Descriptor parent(open_inside(top.get(), around, O_PATH | O_DIRECTORY));
    if (!parent.is_open()) return file_error("make directory", shown, errno);
    if (::mkdirat(parent.get(), part.c_str(), 0755) != 0 && errno != EEXIST) {
      return file_error("make directory", shown, errno);
    }
  }
  // Also when it was there already: it must not be a link, nor have been reached by one.
  const std::uint64_t kind = leaf == Leaf::kDirectory ? O_DIRECTORY : 0;
  const Descriptor made(open_inside(top.get(), below, O_PATH | kind));
  if (!made.is_open()) return file_error("open", shown, errno);
  return {};
}

Result<void> remove_tree(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return file_error("stat", path, errno);
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  // The parent's device, so that a mount point is seen to be one.
  struct stat around {};
  if (::stat(parent.c_str(), &around) != 0) return file_error("stat", parent, errno);
  if (S_ISDIR(status.st_mode) && status.st_dev != around.st_dev) {
    return file_error("remove", path, EBUSY);
  }
  const Descriptor opened(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return file_error("open", parent, errno);
  return TreeRemoval(path, around.st_dev).remove(opened.get(), name);
}

}  // namespace corehold
