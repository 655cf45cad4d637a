// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/pod_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "runtime/workspace/pod_spec.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

Error failed(std::string_view what, const std::string& path) {
  return errno_error(fmt::format("{} {}", what, path), errno);
}

bool is_mount_point(const std::string& path) {
  struct stat own {};
  struct stat around {};
  return ::lstat(path.c_str(), &own) == 0 && ::lstat((path + "/..").c_str(), &around) == 0 &&
         own.st_dev != around.st_dev;
}

Result<void> make_empty_dir(const std::string& path, const VolumeSpec& volume,
                            const std::optional<gid_t>& group, const Launcher& launcher) {
  struct stat status {};
  const bool is_new = ::lstat(path.c_str(), &status) != 0;
  if (!is_new && (!volume.in_memory || is_mount_point(path))) return {};
  TRY(make_directories(path, 0755));
  if (volume.in_memory) TRY(launcher.mount_memory(path, volume.size_limit));
  // As a kubelet makes it: any user that a container runs as can use it.
  if (group && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return failed("change the group of", path);
  }
  if (::chmod(path.c_str(), group ? 02777 : 0777) != 0) return failed("change the mode of", path);
  return {};
}

bool fits(mode_t mode, std::string_view type) {
  if (type.starts_with("Directory")) return S_ISDIR(mode);
  if (type.starts_with("File")) return S_ISREG(mode);
  if (type == "Socket") return S_ISSOCK(mode);
  if (type == "CharDevice") return S_ISCHR(mode);
  if (type == "BlockDevice") return S_ISBLK(mode);
  return true;
}

Result<void> check_host_path(const std::string& root, const VolumeSpec& volume) {
  const std::string& path = volume.host_path;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (fits(status.st_mode, volume.host_type)) return {};
    return Error{Code::kInvalid, fmt::format("{} is not of type {}", path, volume.host_type)};
  }
  if (errno != ENOENT) return failed("stat", path);
  if (!volume.host_type.ends_with("OrCreate")) {
    return Error{Code::kNotFound, fmt::format("{} does not exist", path)};
  }
  if (!path.starts_with(root + "/")) {
    return Error{Code::kUnsupported,
                 fmt::format("{} does not exist, and nothing is created outside {}: create it "
                             "first, or use an emptyDir",
                             path, root)};
  }
  const Leaf leaf = volume.host_type == "DirectoryOrCreate" ? Leaf::kDirectory : Leaf::kFile;
  return make_inside(root, path.substr(root.size() + 1), leaf);
}

// As we think of UIDs of pods: 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view name) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(name.begin(), name.end(), kShape.begin(), kShape.end(), [](char own, char is) {
    return is == '-' ? own == '-' : std::isxdigit(static_cast<unsigned char>(own)) != 0;
  });
}

constexpr std::array kKinds{"volumes", "podinfo", "logs"};

}  // namespace

std::string volume_path(const std::string& root, const std::string& uid,
                        const std::string& volume) {
  return fmt::format("{}/volumes/{}/{}", root, uid, volume);
}

std::string podinfo_path(const std::string& root, const std::string& uid,
                         const std::string& volume) {
  return fmt::format("{}/podinfo/{}/{}", root, uid, volume);
}

std::string log_path(const std::string& root, const std::string& uid, const std::string& container,
                     int attempt) {
  return fmt::format("{}/logs/{}/{}/{}.log", root, uid, container, attempt);
}

Result<void> make_private_tops(const std::string& root) {
  for (const char* name : {"volumes", "podinfo", "logs", "containers"}) {
    TRY(make_private_directory(fmt::format("{}/{}", root, name)));
  }
  return {};
}

Result<void> make_volumes(const std::string& root, const Pod& pod, const Launcher& launcher) {
  const PodSpec spec = read_spec(pod);
  TRY(make_private_tops(root));
  for (const VolumeSpec& volume : spec.volumes) {
    Result<void> made;
    if (volume.kind == VolumeSpec::Kind::kEmptyDir) {
      made = make_empty_dir(volume_path(root, pod.uid, volume.name), volume, spec.volume_group,
                            launcher);
    } else if (volume.kind == VolumeSpec::Kind::kHostPath) {
      made = check_host_path(root, volume);
    }
    if (!made) {
      return wrap(fmt::format("volume {} of pod {}", volume.name, display_name(pod)), made.error());
    }
  }
  return {};
}

Result<void> remove_pod_files(const std::string& root, const std::string& uid,
                              const Launcher& launcher) {
  const std::string volumes = fmt::format("{}/volumes/{}", root, uid);
  if (const auto names = entries_of(volumes)) {
    for (const std::string& name : *names) {
      const std::string path = fmt::format("{}/{}", volumes, name);
      if (is_mount_point(path)) TRY(launcher.unmount(path));
    }
  }
  for (const char* kind : kKinds) {
    TRY(remove_tree(fmt::format("{}/{}/{}", root, kind, uid)));
  }
  return {};
}

std::set<std::string> pods_with_files(const std::string& root) {
  std::set<std::string> uids;
  for (const char* kind : {"volumes", "podinfo", "logs", "containers"}) {
    const auto names = entries_of(fmt::format("{}/{}", root, kind));
    if (!names) continue;
    std::copy_if(names->begin(), names->end(), std::inserter(uids, uids.end()), is_uuid);
  }
  return uids;
}

std::vector<std::string> sweep_pod_files(const std::string& root, const std::set<std::string>& gone,
                                         const Launcher& launcher) {
  std::vector<std::string> removed;
  for (const std::string& uid : gone) {
    if (!is_uuid(uid)) continue;
    const bool has_any = std::any_of(std::begin(kKinds), std::end(kKinds), [&](const char* kind) {
      return ::access(fmt::format("{}/{}/{}", root, kind, uid).c_str(), F_OK) == 0;
    });
    if (has_any && remove_pod_files(root, uid, launcher)) removed.push_back(uid);
  }
  return removed;
}

}  // namespace corehold
