// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/podinfo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "runtime/workspace/launch_size.h"
#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/pod_spec.h"
#include "runtime/workspace/pod_value.h"
#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1024} * 1024;

struct InfoFile {
  std::string path{};  // below the volume
  std::string content{};
  mode_t mode = 0644;
};

Error podinfo_failed(std::string_view what, const std::string& path) {
  return errno_error(fmt::format("{} {}", what, path), errno);
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
  return length < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

bool says(const std::string& path, const InfoFile& file) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if ((status.st_mode & 0777U) != file.mode) return false;
  const auto content = read_file(path, kMaxBytes);
  return content && *content == file.content;
}

// Whether the volume shows these files already. Which files there are never changes in the
// life of a pod, so that none can be too many.
bool says(const std::string& volume, const std::vector<InfoFile>& files) {
  if (link_target(volume + "/..data").empty()) return false;
  for (const InfoFile& file : files) {
    if (!says(fmt::format("{}/..data/{}", volume, file.path), file)) return false;
    const std::string part = first_part(file.path);
    if (link_target(fmt::format("{}/{}", volume, part)) != "..data/" + part) return false;
  }
  return true;
}

Result<void> write_file(const std::string& path, const InfoFile& file,
                        const std::optional<gid_t>& group) {
  const std::size_t slash = path.rfind('/');
  TRY(make_directories(path.substr(0, slash), 0755));
  Descriptor opened(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!opened.is_open()) return podinfo_failed("create", path);
  if (const int error = write_all(opened.get(), file.content); error != 0) {
    errno = error;
    return podinfo_failed("write", path);
  }
  if (group && ::fchown(opened.get(), static_cast<uid_t>(-1), *group) != 0) {
    return podinfo_failed("change the group of", path);
  }
  if (::fchmod(opened.get(), file.mode) != 0) return podinfo_failed("change the mode of", path);
  if (opened.close() != 0) return podinfo_failed("close", path);
  return {};
}

// Points a link elsewhere, in one step for its readers.
Result<void> replace_link(const std::string& path, const std::string& target) {
  const std::string temporary = path + "_tmp";
  static_cast<void>(::unlink(temporary.c_str()));
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return podinfo_failed("link", temporary);
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  // Nothing of ours, and nobody's: these directories are the agent's.
  if (errno == EISDIR && remove_tree(path) && ::rename(temporary.c_str(), path.c_str()) == 0) {
    return {};
  }
  return podinfo_failed("rename to", path);
}

// What earlier writes have left, finished or not. `before` stays: a reader on
// the way to a file through it finds the file.
void remove_old(const std::string& volume, const std::string& current, const std::string& before) {
  const auto names = entries_of(volume);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with("..") && name != "..data" && name != current && name != before) {
      static_cast<void>(remove_tree(fmt::format("{}/{}", volume, name)));
    }
  }
}

// A directory in the volume with the files, to which no link leads yet. A failure leaves nothing
// of it: repeated attempts would fill the disk.
Result<std::string> write_content(const std::string& volume, const std::vector<InfoFile>& files,
                                  const std::optional<gid_t>& group) {
  std::string directory = volume + "/..content-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return podinfo_failed("make a directory in", volume);
  const auto fill = [&]() -> Result<void> {
    if (::chmod(directory.c_str(), 0755) != 0)
      return podinfo_failed("change the mode of", directory);
    for (const InfoFile& file : files) {
      TRY(write_file(fmt::format("{}/{}", directory, file.path), file, group));
    }
    return {};
  };
  if (const auto filled = fill(); !filled) {
    static_cast<void>(remove_tree(directory));
    return filled.error();
  }
  return directory.substr(volume.size() + 1);
}

Result<void> write_volume(const std::string& volume, const std::vector<InfoFile>& files,
                          const std::optional<gid_t>& group) {
  if (says(volume, files)) return {};
  TRY(make_directories(volume, 0755));
  const std::string name = TRY(write_content(volume, files, group));
  const std::string before = link_target(volume + "/..data");
  if (const auto shown = replace_link(volume + "/..data", name); !shown) {
    static_cast<void>(remove_tree(fmt::format("{}/{}", volume, name)));
    return shown.error();
  }
  std::set<std::string> parts;
  for (const InfoFile& file : files) parts.insert(first_part(file.path));
  for (const std::string& part : parts) {
    const std::string path = fmt::format("{}/{}", volume, part);
    if (link_target(path) != "..data/" + part) TRY(replace_link(path, "..data/" + part));
  }
  remove_old(volume, name, before);
  return {};
}

// The volumes that the pod asks for, and those that containers of it have been given by an
// annotation that is there no more, or is not obeyed any more: one that runs still looks at it.
std::vector<VolumeSpec> told_volumes(const Pod& pod, const PodSpec& spec,
                                     const LaunchContext& context) {
  std::vector<VolumeSpec> volumes;
  for (const VolumeSpec& volume : spec.volumes) {
    if (volume.kind == VolumeSpec::Kind::kDownwardApi) volumes.push_back(volume);
  }
  for (const ContainerSpec& container : spec.containers) {
    VolumeSpec volume = assigned_volume(container.name);
    if (spec.find_volume(volume.name) != nullptr) continue;
    const std::string path = podinfo_path(context.root, pod.uid, volume.name);
    if (::access(path.c_str(), F_OK) == 0) volumes.push_back(std::move(volume));
  }
  return volumes;
}

}  // namespace

Result<void> write_podinfo(const Pod& pod, const AssignedByContainer& by_container,
                           const LaunchContext& context) {
  const PodSpec spec = read_spec(pod, context.podinfo_annotation);
  std::size_t bytes = 0;
  for (const VolumeSpec& volume : told_volumes(pod, spec, context)) {
    std::vector<InfoFile> files;
    files.reserve(volume.items.size());
    for (const PodInfoItem& item : volume.items) {
      mode_t mode = item.mode.value_or(volume.mode);
      // The group of the volumes can read them, as with a kubelet.
      if (spec.volume_group) mode |= 0440U;
      files.push_back({.path = item.path,
                       .content = text_of(item.value, pod, context, by_container),
                       .mode = mode});
      bytes += files.back().content.size();
      if (bytes > kMostPodInfoBytes) return wrap("pod " + display_name(pod), too_much_podinfo());
    }
    auto written = make_private_tops(context.root);
    if (written) {
      written =
          write_volume(podinfo_path(context.root, pod.uid, volume.name), files, spec.volume_group);
    }
    if (!written) {
      return wrap(fmt::format("volume {} of pod {}", volume.name, display_name(pod)),
                  written.error());
    }
  }
  return {};
}

}  // namespace corehold
