// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/launch_size.h"

#include <climits>
#include <map>

#include <fmt/format.h>

#include "pod/json_field.h"
#include "runtime/workspace/expand.h"
#include "runtime/workspace/pod_value.h"

namespace corehold {
namespace {

class LaunchSum {
 public:
  // `bytes` without the zero byte at the end. `name` is of a variable, or empty.
  Result<void> add_string(std::string_view what, std::string_view name, std::size_t bytes) {
    if (bytes < kMostStringBytes) return add(bytes + 1 + sizeof(char*));
    return Error{Code::kInvalid,
                 fmt::format("{}{}{} would have {} bytes; the kernel takes {} in one string", what,
                             name.empty() ? "" : " ", name.empty() ? "" : shown(name), bytes,
                             kMostStringBytes - 1)};
  }
  Result<void> add_path(std::string_view mount, std::size_t bytes) {
    if (bytes < PATH_MAX) return add(bytes);
    return Error{Code::kInvalid, fmt::format("subPathExpr of {} gives a path of {} bytes; one may "
                                             "have {}",
                                             shown(mount), bytes, PATH_MAX - 1)};
  }

  std::size_t total() const { return total_; }

 private:
  Result<void> add(std::size_t bytes) {
    total_ += bytes;
    if (total_ <= kMostLaunchBytes) return {};
    return Error{Code::kInvalid,
                 fmt::format("its command and environment would have more than the {} bytes that "
                             "the kernel takes, with their variables put in; keep data in files "
                             "and name them",
                             kMostLaunchBytes)};
  }

  std::size_t total_ = 0;
};

// As far as they are not too large.
std::size_t podinfo_size(const PodSpec& spec, const Pod& pod) {
  std::size_t total = 0;
  for (const VolumeSpec& volume : spec.volumes) {
    for (const PodInfoItem& item : volume.items) {
      total += text_of(item.value, pod, {}, {}).size();
      if (total > kMostPodInfoBytes) return total;
    }
  }
  return total;
}

}  // namespace

Result<std::size_t> launch_size(const ContainerSpec& container, const Pod& pod,
                                const LaunchContext& context) {
  LaunchSum sum;
  std::map<std::string, std::size_t> variables;
  for (const EnvironmentSpec& entry : container.environment) {
    const std::size_t size = entry.from ? text_of(*entry.from, pod, context, {}).size()
                                        : expanded_size(entry.value, variables);
    TRY(sum.add_string("variable", entry.name, entry.name.size() + 1 + size));
    variables[entry.name] = size;
  }
  for (const auto* words : {&container.command, &container.arguments}) {
    for (const std::string& word : *words) {
      TRY(sum.add_string("a word of the command", "", expanded_size(word, variables)));
    }
  }
  for (const MountSpec& mount : container.mounts) {
    if (mount.sub_path_expression.empty()) continue;
    TRY(sum.add_path(mount.path, expanded_size(mount.sub_path_expression, variables)));
  }
  return sum.total();
}

std::vector<std::string> size_mistakes(const PodSpec& spec, const Pod& pod) {
  std::vector<std::string> found;
  std::size_t total = 0;
  const std::size_t inits = pod.init_containers.size();
  for (std::size_t i = 0; i < spec.containers.size() && total <= kMostPodLaunchBytes; ++i) {
    const Path path = i < inits ? Path() / "spec" / "initContainers" / i
                                : Path() / "spec" / "containers" / (i - inits);
    const auto size = launch_size(spec.containers[i], pod, {});
    if (!size) {
      found.push_back(fmt::format("{}: {}", path.str(), size.error().message));
    } else {
      total += *size;
    }
  }
  if (total > kMostPodLaunchBytes) {
    found.push_back(
        fmt::format("spec.containers: commands and environments of all containers would have more "
                    "than {} bytes, with their variables put in; keep data in files and name them",
                    kMostPodLaunchBytes));
  }
  if (podinfo_size(spec, pod) > kMostPodInfoBytes) {
    found.push_back(fmt::format("spec.volumes: {}", too_much_podinfo().message));
  }
  return found;
}

Error too_much_podinfo() {
  return {Code::kInvalid,
          fmt::format("the files of the pod's downwardAPI volumes would have more than {} bytes; "
                      "ask for a field once, or for single annotations",
                      kMostPodInfoBytes)};
}

}  // namespace corehold
