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
    if (volume.kind != VolumeSpec::Kind::kEmptyDir) continue;
    const auto made = make_empty_dir(volume_path(root, pod.uid, volume.name), volume,
                                     spec.volume_group, launcher);
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

}  // namespace corehold
