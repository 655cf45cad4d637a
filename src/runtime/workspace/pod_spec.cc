// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/pod_spec.h"

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <limits>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/podinfo_request.h"
#include "runtime/workspace/field_reader.h"
#include "runtime/workspace/pod_value.h"

namespace corehold {
namespace {

namespace json = boost::json;

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

bool has_dot_dot(std::string_view path) {
  return fmt::format("/{}/", path).find("/../") != std::string::npos;
}

// Without "." and needless slashes, as a file system reads it.
std::string shortened(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (!result.empty()) result += '/';
    result += part;
  }
  return result;
}

// Longer than the name of a file can be.
bool has_long_part(std::string_view path) {
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > NAME_MAX) return true;
    if (slash == path.size()) return false;
    path.remove_prefix(slash + 1);
  }
}

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// Sorts what is in a directory directly behind the directory, before all other names.
struct ByDirectory {
  bool operator()(std::string_view left, std::string_view right) const {
    return std::lexicographical_compare(
        left.begin(), left.end(), right.begin(), right.end(),
        [](char one, char other) { return rank(one) < rank(other); });
  }
  static int rank(char byte) { return byte == '/' ? -1 : static_cast<unsigned char>(byte); }
};

// Paths of which none is in the way of another.
using Files = std::set<std::string, ByDirectory>;

// Which of these files is in the way of one more, being where it is to be, or a directory of
// its path, or in a directory of its name; "": none. A file with many directories in its path costs
// no more than another.
std::string in_the_way_of(const std::string& path, const Files& files) {
  const auto next = files.lower_bound(path);
  if (next != files.end() && (*next == path || is_below(*next, path))) return *next;
  if (next == files.begin()) return "";
  const std::string& before = *std::prev(next);
  return is_below(path, before) ? before : "";
}

class SpecReader : private FieldReader {
 public:
  SpecReader(const Pod& pod, PodInfoAnnotation annotation) : pod_(pod), annotation_(annotation) {}

  PodSpec read() {
    const Path path = Path() / "spec";
    const json::object& spec = object_at(pod_.raw, Path(), "spec");
    read_pod_security(object_at(spec, path, "securityContext"), path / "securityContext");
    each(spec, path, "volumes",
         [&](const json::object& volume, const Path& at) { read_volume(volume, at); });
    for (const char* kind : {"initContainers", "containers"}) {
      each(spec, path, kind,
           [&](const json::object& container, const Path& at) { read_container(container, at); });
    }
    if (annotation_ == PodInfoAnnotation::kObeyed) read_podinfo_annotation();
    if (!array_at(spec, path, "ephemeralContainers").empty()) {
      add(path / "ephemeralContainers", "not supported");
    }
    spec_.mistakes = take_mistakes();
    return std::move(spec_);
  }

 private:
  static constexpr std::int64_t kMostId = std::numeric_limits<std::int32_t>::max();

  void read_pod_security(const json::object& security, const Path& path) {
    if (const auto user = number_at(security, path, "runAsUser", kMostId)) {
      pod_user_ = static_cast<uid_t>(*user);
    }
    if (const auto group = number_at(security, path, "runAsGroup", kMostId)) {
      pod_group_ = static_cast<gid_t>(*group);
    }
    pod_non_root_ = flag_at(security, path, "runAsNonRoot");
    const json::array groups = array_at(security, path, "supplementalGroups");
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::int64_t* number = groups[i].if_int64();
      if (number == nullptr || *number < 0 || *number > kMostId) {
        add(path / "supplementalGroups" / i, fmt::format("must be a number from 0 to {}", kMostId));
      } else {
        spec_.groups.push_back(static_cast<gid_t>(*number));
      }
    }
    if (const auto group = number_at(security, path, "fsGroup", kMostId)) {
      spec_.volume_group = static_cast<gid_t>(*group);
      spec_.groups.push_back(*spec_.volume_group);
    }
    check_seccomp(security, path);
  }

  void check_seccomp(const json::object& security, const Path& path) {
    const json::object& profile = object_at(security, path, "seccompProfile");
    const std::string type = text_at(profile, path / "seccompProfile", "type");
    if (!type.empty() && type != "Unconfined") {
      add(path / "seccompProfile",
          fmt::format("{} is not supported: a container is a process of the machine", shown(type)));
    }
  }

  // --- volumes

  void read_volume(const json::object& volume, const Path& path) {
    VolumeSpec spec{.name = name_at(volume, path, "name")};
    if (spec.name.empty()) {
      add(path / "name", "required");
    } else if (!volumes_.insert(spec.name).second) {
      add(path / "name", fmt::format("duplicate volume name {}", shown(spec.name)));
    } else if (spec.name.find('/') != std::string::npos || spec.name.starts_with('.')) {
      add(path / "name", fmt::format("{} cannot be the name of a directory", shown(spec.name)));
    }
    int kinds = 0;
    for (const auto& [key, value] : volume) {
      if (key == "name" || value.is_null()) continue;
      ++kinds;
      if (key == "hostPath") {
        read_host_path(object_at(volume, path, key), path / key, spec);
      } else if (key == "emptyDir") {
        read_empty_dir(object_at(volume, path, key), path / key, spec);
      } else if (key == "downwardAPI") {
        read_downward_api(object_at(volume, path, key), path / key, spec);
      } else {
        add(path / key, "not supported; hostPath, emptyDir and downwardAPI volumes are");
      }
    }
    if (kinds > 1) add(path, "must be of one kind only");
    spec_.volumes.push_back(std::move(spec));
  }

  void read_host_path(const json::object& source, const Path& path, VolumeSpec& spec) {
    static constexpr std::array<std::string_view, 8> kTypes{
        "",       "Directory",  "DirectoryOrCreate", "File", "FileOrCreate",
        "Socket", "CharDevice", "BlockDevice"};
    spec.kind = VolumeSpec::Kind::kHostPath;
    spec.host_path = name_at(source, path, "path");
    spec.host_type = text_at(source, path, "type");
    if (!is_absolute(spec.host_path) || has_dot_dot(spec.host_path)) {
      add(path / "path",
          fmt::format("{} is not an absolute path without \"..\"", shown(spec.host_path)));
    }
    if (std::find(kTypes.begin(), kTypes.end(), spec.host_type) == kTypes.end()) {
      add(path / "type", fmt::format("{} is none of Directory, DirectoryOrCreate, File, "
                                     "FileOrCreate, Socket, CharDevice, BlockDevice",
                                     shown(spec.host_type)));
    }
  }

  void read_empty_dir(const json::object& source, const Path& path, VolumeSpec& spec) {
    spec.kind = VolumeSpec::Kind::kEmptyDir;
    const std::string medium = text_at(source, path, "medium");
    spec.in_memory = medium == "Memory";
    if (!medium.empty() && !spec.in_memory) {
      add(path / "medium", fmt::format("{} is not supported; Memory is", shown(medium)));
    }
    if (const json::value* limit = field(source, "sizeLimit")) {
      const auto quantity = quantity_of(*limit);
      if (!quantity) {
        add(path / "sizeLimit", quantity.error().message);
      } else if (quantity->sign() > 0) {
        spec.size_limit = quantity->value();
      }
    }
  }

  void read_downward_api(const json::object& source, const Path& path, VolumeSpec& spec) {
    spec.kind = VolumeSpec::Kind::kDownwardApi;
    if (const auto mode = number_at(source, path, "defaultMode", 0777)) {
      spec.mode = static_cast<mode_t>(*mode);
    }
    Files files;
    each(source, path, "items", [&](const json::object& item, const Path& at) {
      const std::string written = name_at(item, at, "path");
      PodInfoItem info{.path = shortened(written)};
      if (info.path.empty() || is_absolute(written) || has_dot_dot(written) ||
          info.path.starts_with("..") || written.ends_with('/')) {
        add(at / "path", fmt::format("{} is not a relative path without \"..\"", shown(written)));
      } else if (has_long_part(info.path)) {
        add(at / "path", fmt::format("{} has a part of more than {} bytes, which no file can have",
                                     shown(written), NAME_MAX));
      } else if (const std::string other = in_the_way_of(info.path, files); other == info.path) {
        add(at / "path", fmt::format("duplicate path {}", shown(written)));
      } else if (!other.empty()) {
        add(at / "path", fmt::format("{} and {} cannot both be files: one would be a directory",
                                     shown(written), shown(other)));
      } else {
        files.insert(info.path);
      }
      if (const auto mode = number_at(item, at, "mode", 0777)) {
        info.mode = static_cast<mode_t>(*mode);
      }
      read_value(item, at, ValueUse::kVolume, "", info.value);
      spec.items.push_back(std::move(info));
    });
  }

  // A fieldRef or a resourceFieldRef.
  void read_value(const json::object& object, const Path& path, ValueUse use,
                  const std::string& container, PodValue& value) {
    const json::object& by_field = object_at(object, path, "fieldRef");
    const json::object& by_resource = object_at(object, path, "resourceFieldRef");
    if (by_field.empty() == by_resource.empty()) {
      add(path, "needs one of fieldRef and resourceFieldRef");
      return;
    }
    const Path here = path / (by_field.empty() ? "resourceFieldRef" : "fieldRef");
    if (!by_field.empty()) {
      value.field = text_at(by_field, here, "fieldPath");
      const std::string problem = problem_with_field(value.field, use);
      if (!problem.empty()) add(here / "fieldPath", problem);
      return;
    }
    value.resource = text_at(by_resource, here, "resource");
    value.container = text_at(by_resource, here, "containerName");
    const std::string problem = problem_with_resource(value.resource, use);
    if (!problem.empty()) add(here / "resource", problem);
    if (value.container.empty()) value.container = container;
    // Whether they are checked is the API's business, and a gate's: the file is written anyway,
    // and empty for a container that is not there.
    if (problem.empty() && value.is_assigned()) return;
    if (value.container.empty()) {
      add(here / "containerName", "required");
    } else if (pod_.find(value.container) == nullptr) {
      add(here / "containerName",
          fmt::format("the pod has no container {}", shown(value.container)));
    }
    if (const json::value* divisor = field(by_resource, "divisor")) {
      const auto quantity = quantity_of(*divisor);
      if (!quantity || quantity->sign() < 0) {
        add(here / "divisor", "must be a positive quantity");
      } else if (quantity->sign() > 0) {
        value.divisor = *quantity;
      }
    }
  }

  // --- containers

  void read_container(const json::object& container, const Path& path) {
    ContainerSpec spec{.name = text_at(container, path, "name")};
    spec.command = texts_at(container, path, "command");
    spec.arguments = texts_at(container, path, "args");
    spec.working_directory = name_at(container, path, "workingDir");
    if (spec.command.empty()) {
      add(path / "command",
          "required: a container is a program of this machine, its image is not used");
    }
    if (!spec.working_directory.empty() && !is_absolute(spec.working_directory)) {
      add(path / "workingDir", "must be an absolute path");
    }
    if (!array_at(container, path, "envFrom").empty()) {
      add(path / "envFrom", "not supported: there are no config maps and secrets here");
    }
    each(container, path, "env",
         [&](const json::object& variable, const Path& at) { read_variable(variable, at, spec); });
    std::set<std::string> places;
    each(container, path, "volumeMounts",
         [&](const json::object& mount, const Path& at) { read_mount(mount, at, spec, places); });
    if (!array_at(container, path, "volumeDevices").empty()) {
      add(path / "volumeDevices", "not supported");
    }
    read_security(object_at(container, path, "securityContext"), path / "securityContext", spec);
    spec_.containers.push_back(std::move(spec));
  }

  void read_variable(const json::object& variable, const Path& path, ContainerSpec& spec) {
    EnvironmentSpec entry{.name = text_at(variable, path, "name"),
                          .value = text_at(variable, path, "value")};
    if (entry.name.empty() ||
        entry.name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      add(path / "name", fmt::format("{} cannot be the name of a variable", shown(entry.name)));
    }
    if (entry.value.find('\0') != std::string::npos) {
      add(path / "value", "must not hold a zero byte");
    }
    const json::object& from = object_at(variable, path, "valueFrom");
    if (!from.empty()) {
      bool is_known = true;
      for (const auto& [key, value] : from) {
        if (key == "fieldRef" || key == "resourceFieldRef" || value.is_null()) continue;
        add(path / "valueFrom" / key, "not supported; fieldRef and resourceFieldRef are");
        is_known = false;
      }
      entry.from.emplace();
      if (is_known) {
        read_value(from, path / "valueFrom", ValueUse::kEnvironment, spec.name, *entry.from);
      }
    }
    spec.environment.push_back(std::move(entry));
  }

  // `places` are the paths of the container's mounts so far.
  void read_mount(const json::object& mount, const Path& path, ContainerSpec& spec,
                  std::set<std::string>& places) {
    MountSpec entry{.volume = text_at(mount, path, "name"),
                    .path = name_at(mount, path, "mountPath"),
                    .sub_path = name_at(mount, path, "subPath"),
                    .sub_path_expression = name_at(mount, path, "subPathExpr"),
                    .read_only = flag_at(mount, path, "readOnly")};
    if (!volumes_.contains(entry.volume)) {
      add(path / "name", fmt::format("the pod has no volume {}", shown(entry.volume)));
    }
    while (entry.path.size() > 1 && entry.path.ends_with('/')) entry.path.pop_back();
    if (!is_absolute(entry.path) || has_dot_dot(entry.path) || entry.path == "/") {
      add(path / "mountPath",
          fmt::format("{} is not an absolute path below / without \"..\"", shown(entry.path)));
    }
    if (!places.insert(entry.path).second) {
      add(path / "mountPath", fmt::format("{} is taken already", shown(entry.path)));
    }
    if (is_absolute(entry.sub_path) || has_dot_dot(entry.sub_path)) {
      add(path / "subPath",
          fmt::format("{} is not a relative path without \"..\"", shown(entry.sub_path)));
    }
    if (text_at(mount, path, "mountPropagation") == "Bidirectional") {
      add(path / "mountPropagation", "Bidirectional is not supported");
    }
    spec.mounts.push_back(std::move(entry));
  }

  void read_podinfo_annotation() {
    const Path path = Path() / "metadata" / "annotations" / kPodInfoAnnotation;
    const auto directory = podinfo_directory(pod_.annotations);
    if (!directory) return add(path, directory.error().message);
    if (!*directory) return;
    for (ContainerSpec& container : spec_.containers) {
      for (const MountSpec& mount : container.mounts) {
        if (!hides_podinfo(mount.path, **directory)) continue;
        add(path, fmt::format("container {} mounts a volume on {}: choose another directory",
                              container.name, mount.path));
      }
      VolumeSpec volume = assigned_volume(container.name);
      container.mounts.push_back({.volume = volume.name, .path = **directory, .read_only = true});
      spec_.volumes.push_back(std::move(volume));
    }
  }

  void read_security(const json::object& security, const Path& path, ContainerSpec& spec) {
    spec.user = pod_user_;
    spec.group = pod_group_;
    if (const auto user = number_at(security, path, "runAsUser", kMostId)) {
      spec.user = static_cast<uid_t>(*user);
    }
    if (const auto group = number_at(security, path, "runAsGroup", kMostId)) {
      spec.group = static_cast<gid_t>(*group);
    }
    const bool is_set = field(security, "runAsNonRoot") != nullptr;
    const bool non_root = is_set ? flag_at(security, path, "runAsNonRoot") : pod_non_root_;
    if (non_root && spec.user.value_or(0) == 0) {
      add(path / "runAsUser", "runAsNonRoot needs a user other than 0");
    }
    const json::value* escalation = field(security, "allowPrivilegeEscalation");
    if (escalation != nullptr) {
      spec.no_new_privileges = !flag_at(security, path, "allowPrivilegeEscalation");
    }
    check_seccomp(security, path);
    if (flag_at(security, path, "readOnlyRootFilesystem")) {
      add(path / "readOnlyRootFilesystem",
          "not supported: a container is a process of the machine");
    }
    if (!object_at(security, path, "capabilities").empty()) {
      add(path / "capabilities", "not supported: a container is a process of the machine");
    }
  }

  const Pod& pod_;
  PodInfoAnnotation annotation_;
  PodSpec spec_{};
  std::set<std::string> volumes_{};  // names
  std::optional<uid_t> pod_user_{};
  std::optional<gid_t> pod_group_{};
  bool pod_non_root_ = false;
};

}  // namespace

const ContainerSpec* PodSpec::find(std::string_view container) const {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const ContainerSpec& one) { return one.name == container; });
  return found == containers.end() ? nullptr : &*found;
}

const VolumeSpec* PodSpec::find_volume(std::string_view volume) const {
  const auto found = std::find_if(volumes.begin(), volumes.end(),
                                  [&](const VolumeSpec& one) { return one.name == volume; });
  return found == volumes.end() ? nullptr : &*found;
}

VolumeSpec assigned_volume(const std::string& container) {
  // No volume of the pod's can have such a name.
  VolumeSpec volume{.name = ".assigned-" + container, .kind = VolumeSpec::Kind::kDownwardApi};
  for (const char* resource : {"assigned.cpuset", "assigned.memset"}) {
    volume.items.push_back(
        {.path = resource, .value = {.container = container, .resource = resource}});
  }
  return volume;
}

PodSpec read_spec(const Pod& pod, PodInfoAnnotation annotation) {
  return SpecReader(pod, annotation).read();
}

}  // namespace corehold
