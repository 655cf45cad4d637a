// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/launch.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pod/pod_json.h"
#include "runtime/workspace/expand.h"
#include "runtime/workspace/field_reader.h"
#include "runtime/workspace/launch_size.h"
#include "runtime/workspace/pod_fields.h"
#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/pod_spec.h"
#include "runtime/workspace/pod_value.h"

namespace corehold {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Variables> add_environment(const ContainerSpec& spec, const Pod& pod,
                                  const LaunchContext& context, Launch& launch) {
  Variables variables;
  for (const EnvironmentSpec& entry : spec.environment) {
    std::string value =
        entry.from ? text_of(*entry.from, pod, context, {}) : TRY(expand(entry.value, variables));
    if (value.find('\0') != std::string::npos) {
      return Error{Code::kInvalid,
                   fmt::format("variable {} would hold a zero byte", shown(entry.name))};
    }
    variables[entry.name] = value;
    launch.environment.emplace_back(entry.name, std::move(value));
  }
  return variables;
}

// Whether a mistake is of one of these fields or of a field in one.
bool is_in_one_of(std::string_view mistake, const std::set<std::string, std::less<>>& paths) {
  const std::size_t end = std::min(mistake.find(": "), mistake.size());
  for (std::size_t at = 0; at <= end; at = mistake.find_first_of(":.[", at + 1)) {
    if (paths.contains(mistake.substr(0, at))) return true;
  }
  return false;
}

bool is_inside(std::string_view path, const std::string& root) {
  return path.starts_with(root + "/");
}

Result<Mount> mount_of(const MountSpec& mount, const VolumeSpec& volume, const Pod& pod,
                       const Variables& variables, const LaunchContext& context) {
  Mount made{.target = mount.path, .read_only = mount.read_only, .sub_path = mount.sub_path};
  if (!mount.sub_path_expression.empty()) {
    made.sub_path = TRY(expand(mount.sub_path_expression, variables));
    if (made.sub_path.starts_with('/')) {
      return Error{Code::kInvalid, fmt::format("subPathExpr of {} gives {}, an absolute path",
                                               mount.path, made.sub_path)};
    }
    if (has_control_bytes(made.sub_path)) {
      return Error{Code::kInvalid,
                   fmt::format("subPathExpr of {} gives {}, with control characters", mount.path,
                               shown(made.sub_path))};
    }
  }
  switch (volume.kind) {
    case VolumeSpec::Kind::kHostPath:
      made.source = volume.host_path;
      made.may_create = is_inside(volume.host_path, context.root);
      break;
    case VolumeSpec::Kind::kEmptyDir:
      made.source = volume_path(context.root, pod.uid, volume.name);
      made.may_create = true;
      break;
    case VolumeSpec::Kind::kDownwardApi:
      made.source = podinfo_path(context.root, pod.uid, volume.name);
      made.read_only = true;
      break;
  }
  return made;
}

}  // namespace

std::vector<std::string> mistakes_of(const Pod& pod) {
  PodSpec spec = read_spec(pod);
  return spec.mistakes.empty() ? size_mistakes(spec, pod) : std::move(spec.mistakes);
}

std::vector<std::string> unrunnable_of(const Pod& pod) {
  std::vector<std::string> found = mistakes_of(pod);
  std::set<std::string, std::less<>> told;  // paths
  for (const std::string& mistake : found) told.insert(mistake.substr(0, mistake.find(": ")));
  for (std::string& unsupported : unsupported_fields(pod)) {
    if (!is_in_one_of(unsupported, told)) found.push_back(std::move(unsupported));
  }
  return found;
}

Result<Launch> make_launch(const Pod& pod, std::string_view container, int attempt,
                           const LaunchContext& context) {
  const PodSpec spec = read_spec(pod, context.podinfo_annotation);
  const ContainerSpec* found = spec.find(container);
  if (found == nullptr) {
    return Error{Code::kNotFound,
                 fmt::format("pod {} has no container {}", display_name(pod), container)};
  }
  if (!spec.mistakes.empty()) {
    return Error{Code::kInvalid,
                 fmt::format("pod {}: {}", display_name(pod), fmt::join(spec.mistakes, "; "))};
  }
  if (const auto size = launch_size(*found, pod, context); !size) {
    return wrap(fmt::format("pod {}: container {}", display_name(pod), found->name), size.error());
  }
  Launch launch{.container = {.pod = pod.uid, .container = found->name},
                .attempt = attempt,
                .working_directory = found->working_directory,
                .user = found->user,
                .group = found->group,
                .groups = spec.groups,
                .log_path = log_path(context.root, pod.uid, found->name, attempt),
                .manifest = write_json(pod),
                .no_new_privileges = found->no_new_privileges};
  const Variables variables = TRY(add_environment(*found, pod, context, launch));
  for (const auto* words : {&found->command, &found->arguments}) {
    for (const std::string& word : *words) launch.command.push_back(TRY(expand(word, variables)));
  }
  std::map<std::string_view, const VolumeSpec*> volumes;
  for (const VolumeSpec& volume : spec.volumes) {
    volumes.emplace(volume.name, &volume);
    if (volume.kind != VolumeSpec::Kind::kHostPath) continue;
    launch.host_paths.push_back(
        {.volume = fmt::format("{} of pod {}", volume.name, display_name(pod)),
         .path = volume.host_path,
         .type = volume.host_type,
         .root = context.root});
  }
  for (const MountSpec& mount : found->mounts) {
    launch.mounts.push_back(
        TRY(mount_of(mount, *volumes.at(mount.volume), pod, variables, context)));
  }
  return launch;
}

}  // namespace corehold
