// SPDX-License-Identifier: Apache-2.0
#include "sys/process/mount_view.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

Error view_failed(std::string_view what) { return errno_error(what, errno); }

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

bool is_inside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(joined(directory, ""));
}

// Where links lead; `path` itself when that cannot be told.
std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  return ::realpath(path.c_str(), buffer.data()) != nullptr ? buffer.data() : path;
}

// Opens below a directory, which links cannot leave.
int open_below(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
}

Result<void> make_below(int directory, const std::string& path) {
  std::string made;
  for (const std::string& part : parts_of(path)) {
    const Descriptor parent(open_below(directory, made.empty() ? "." : made));
    if (!parent.is_open()) return view_failed(fmt::format("open {}", made));
    if (::mkdirat(parent.get(), part.c_str(), 0755) != 0 && errno != EEXIST) {
      return view_failed(fmt::format("make directory {}", path));
    }
    made += made.empty() ? part : "/" + part;
  }
  return {};
}

// A copy of a mount tree that is attached nowhere yet.
int clone_tree(int directory, const char* path) {
  return ::open_tree(
      directory, path,
      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

Result<void> attach(int tree, const std::string& target) {
  if (::move_mount(tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0) return {};
  return view_failed(fmt::format("mount on {}", target));
}

Result<void> make_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.is_open()) return view_failed(fmt::format("make {}", path));
  return {};
}

// Without the right to mount, a user can have it in a user namespace of its own.
Result<void> unshare_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) return {};
  if (errno != EPERM) return view_failed("make a mount namespace");
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return view_failed("make a mount namespace, which volumes need");
  }
  TRY(write_kernel_file("/proc/self/setgroups", "deny"));
  TRY(write_kernel_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)));
  return write_kernel_file("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

class View {
 public:
  explicit View(std::string scratch) : scratch_(std::move(scratch)) {}

  Result<void> enter(const std::vector<ViewMount>& mounts);

 private:
  struct Opened {
    const ViewMount* mount;
    Descriptor tree;
    bool is_directory;
  };
  struct Attached {
    std::string target;
    const ViewMount* mount;
  };

  Result<Opened> open_source(const ViewMount& mount);
  Result<void> put(const Opened& opened);
  Result<void> make_room(const std::string& existing, const std::vector<std::string>& missing,
                         const Opened& opened);
  Result<void> cover(const std::string& directory);
  Result<void> cover_root();
  Result<void> show_entries(int from, const std::string& to);

  std::string scratch_;
  std::set<dev_t> covers_{};  // the directories in memory
  std::vector<Attached> attached_{};
};

Result<View::Opened> View::open_source(const ViewMount& mount) {
  Descriptor source(::open(mount.source.c_str(), O_PATH | O_CLOEXEC));
  if (!source.is_open()) return view_failed(fmt::format("open {}", mount.source));
  if (!mount.sub_path.empty()) {
    Descriptor below(open_below(source.get(), mount.sub_path));
    if (!below.is_open() && errno == ENOENT && mount.may_create) {
      const auto made = make_below(source.get(), mount.sub_path);
      if (!made) return wrap(mount.source, made.error());
      below.reset(open_below(source.get(), mount.sub_path));
    }
    if (!below.is_open()) {
      return view_failed(fmt::format("open subPath {} of {}", mount.sub_path, mount.source));
    }
    source.reset(below.release());
  }
  struct stat status {};
  if (::fstat(source.get(), &status) != 0) return view_failed(fmt::format("stat {}", mount.source));
  Descriptor tree(clone_tree(source.get(), ""));
  if (!tree.is_open()) return view_failed(fmt::format("mount {}", mount.source));
  if (mount.read_only) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                        sizeof attributes) != 0) {
      return view_failed(fmt::format("make {} read-only", mount.target));
    }
  }
  return Opened{.mount = &mount, .tree = std::move(tree), .is_directory = S_ISDIR(status.st_mode)};
}

Result<void> View::enter(const std::vector<ViewMount>& mounts) {
  TRY(unshare_mounts());
  // What the machine mounts later is seen; what is mounted here stays here.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return view_failed("make mounts private");
  }
  std::vector<Opened> opened;
  opened.reserve(mounts.size());
  for (const ViewMount& mount : mounts) opened.push_back(TRY(open_source(mount)));
  // Those that others lie in come first.
  std::vector<const Opened*> ordered;
  ordered.reserve(opened.size());
  for (const Opened& one : opened) ordered.push_back(&one);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Opened* left, const Opened* right) {
    return parts_of(left->mount->target) < parts_of(right->mount->target);
  });
  for (const Opened* one : ordered) {
    const auto done = put(*one);
    if (!done) return wrap(fmt::format("mount {}", one->mount->target), done.error());
  }
  return {};
}

Result<void> View::put(const Opened& opened) {
  std::string existing = "/";
  std::vector<std::string> missing;
  for (const std::string& part : parts_of(opened.mount->target)) {
    struct stat status {};
    if (missing.empty() && ::stat(joined(existing, part).c_str(), &status) == 0) {
      existing = joined(existing, part);
    } else if (missing.empty() && errno != ENOENT) {
      return view_failed(fmt::format("stat {}", joined(existing, part)));
    } else {
      missing.push_back(part);
    }
  }
  struct stat status {};
  if (::stat(existing.c_str(), &status) != 0) return view_failed(fmt::format("stat {}", existing));
  if (!missing.empty()) {
    if (!S_ISDIR(status.st_mode)) {
      return Error{Code::kInvalid, fmt::format("{} is not a directory", existing)};
    }
    TRY(make_room(existing, missing, opened));
  } else if (S_ISDIR(status.st_mode) != opened.is_directory) {
    return Error{
        Code::kInvalid,
        fmt::format("{} is {} directory on this machine, and the volume is {}", existing,
                    opened.is_directory ? "no" : "a", opened.is_directory ? "one" : "none")};
  }
  const std::string target = real_path(opened.mount->target);
  TRY(attach(opened.tree.get(), target));
  attached_.push_back({.target = target, .mount = opened.mount});
  return {};
}

// Makes the directory to mount on, where no other process sees it.
Result<void> View::make_room(const std::string& existing, const std::vector<std::string>& missing,
                             const Opened& opened) {
  const std::string base = real_path(existing);
  const Attached* around = nullptr;
  for (const Attached& one : attached_) {
    const bool is_closer = around == nullptr || one.target.size() > around->target.size();
    if (is_inside(base, one.target) && is_closer) around = &one;
  }
  struct stat status {};
  if (::stat(base.c_str(), &status) != 0) return view_failed(fmt::format("stat {}", base));
  if (around != nullptr && !around->mount->may_create) {
    return Error{Code::kInvalid,
                 fmt::format("{} does not exist in the volume mounted on {}, and nothing is "
                             "created there: create it first",
                             missing.front(), around->mount->target)};
  }
  if (around == nullptr && !covers_.contains(status.st_dev)) {
    const auto covered = base == "/" ? cover_root() : cover(base);
    if (!covered) return wrap(fmt::format("make room in {}", base), covered.error());
  }
  std::string path = base;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    path = joined(path, missing[i]);
    if (i + 1 == missing.size() && !opened.is_directory) return make_file(path);
    if (::mkdir(path.c_str(), 0755) != 0)
      return view_failed(fmt::format("make directory {}", path));
  }
  return {};
}

std::string tmpfs_options(const struct stat& like) {
  return fmt::format("mode={:o},uid={},gid={}", like.st_mode & 07777U, like.st_uid, like.st_gid);
}

Result<void> View::cover(const std::string& directory) {
  const Descriptor below(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!below.is_open()) return view_failed(fmt::format("open {}", directory));
  struct stat status {};
  if (::fstat(below.get(), &status) != 0) return view_failed(fmt::format("stat {}", directory));
  if (::mount("corehold", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              tmpfs_options(status).c_str()) != 0) {
    return view_failed(fmt::format("mount a tmpfs on {}", directory));
  }
  TRY(show_entries(below.get(), directory));
  if (::stat(directory.c_str(), &status) != 0)
    return view_failed(fmt::format("stat {}", directory));
  covers_.insert(status.st_dev);
  return {};
}

// A mount on "/" is not seen by processes that are there already: it takes another root.
Result<void> View::cover_root() {
  const std::string place = scratch_ + "/view";
  TRY(make_directories(place, 0755));
  const Descriptor below(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!below.is_open()) return view_failed("open /");
  struct stat status {};
  if (::fstat(below.get(), &status) != 0) return view_failed("stat /");
  if (::mount("corehold", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV,
              tmpfs_options(status).c_str()) != 0) {
    return view_failed(fmt::format("mount a tmpfs on {}", place));
  }
  // Not to be seen in itself.
  if (::mount(nullptr, place.c_str(), nullptr, MS_UNBINDABLE, nullptr) != 0) {
    return view_failed(fmt::format("make {} unbindable", place));
  }
  TRY(show_entries(below.get(), place));
  if (::chdir(place.c_str()) != 0) return view_failed(fmt::format("change to {}", place));
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    if (::umount2(".", MNT_DETACH) != 0) return view_failed("leave the old root");
  } else if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || ::chroot(".") != 0) {
    // The first root of a machine without a disk cannot be left, only covered.
    return view_failed("change the root");
  }
  if (::chdir("/") != 0) return view_failed("change to /");
  if (::stat("/", &status) != 0) return view_failed("stat /");
  covers_.insert(status.st_dev);
  return {};
}

Result<void> View::show_entries(int from, const std::string& to) {
  for (const std::string& name : TRY(entries_of(fmt::format("/proc/self/fd/{}", from)))) {
    struct stat status {};
    if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string path = joined(to, name);
    if (S_ISLNK(status.st_mode)) {
      std::array<char, PATH_MAX> link{};
      const ssize_t length = ::readlinkat(from, name.c_str(), link.data(), link.size() - 1);
      if (length < 0) continue;
      if (::symlink(link.data(), path.c_str()) != 0)
        return view_failed(fmt::format("link {}", path));
      continue;
    }
    if (S_ISDIR(status.st_mode)) {
      if (::mkdir(path.c_str(), 0755) != 0)
        return view_failed(fmt::format("make directory {}", path));
    } else {
      TRY(make_file(path));
    }
    const Descriptor tree(clone_tree(from, name.c_str()));
    if (!tree.is_open()) {
      if (errno == ENOENT) continue;
      return view_failed(fmt::format("mount {}", path));
    }
    TRY(attach(tree.get(), path));
  }
  return {};
}

}  // namespace

Result<void> enter_view(const std::vector<ViewMount>& mounts, const std::string& scratch) {
  return View(scratch).enter(mounts);
}

}  // namespace corehold
