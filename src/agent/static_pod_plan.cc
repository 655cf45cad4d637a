// SPDX-License-Identifier: Apache-2.0
#include "agent/static_pod_plan.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "agent/static_pod_file.h"

namespace corehold {
namespace {

std::string file_of(const Pod& pod) {
  const auto found = pod.annotations.find(std::string(kConfigFile));
  return found == pod.annotations.end() ? "" : found->second;
}

bool is_leaving(const PodState& pod) { return pod.record.deleted_at != WallTime{}; }

// The pods that files say, the first file of each name counting; by UID.
std::map<std::string, const Pod*> wanted_pods(const StaticFiles& files, StaticPlan& plan) {
  std::map<std::string, const Pod*> wanted;
  std::map<std::string, std::string> paths;  // by display name
  for (const auto& [path, file] : files) {
    if (!file.pod) continue;
    const auto [first, is_first] = paths.emplace(display_name(*file.pod), path);
    if (is_first) {
      wanted.emplace(file.pod->uid, &*file.pod);
    } else {
      plan.problems[path] = fmt::format("{}: pod {} is in {} already, which counts", path,
                                        first->first, first->second);
    }
  }
  return wanted;
}

// Whether it is the pod that a file in disorder held. After a restart of the agent only the pod
// itself says which file it came from.
bool is_kept(const StaticFiles& files, const Pod& pod) {
  bool has_another_file = false;
  for (const auto& [path, file] : files) {
    if (file.last_uid == pod.uid && !file.pod) return true;
    if (file.last_uid == pod.uid) has_another_file = true;
  }
  if (has_another_file) return false;
  const auto file = files.find(file_of(pod));
  return file != files.end() && !file->second.pod && file->second.last_uid.empty();
}

// Who has the name of this pod, which is not there itself; null: nobody.
const PodState* holder_of(const NodeState& node, const Pod& pod) {
  for (const auto& [uid, other] : node.pods) {
    if (other.record.pod.name == pod.name &&
        other.record.pod.namespace_name == pod.namespace_name) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace

// Called at every change of the node, so that what is as it should be must cost next to nothing.
StaticPlan plan_static_pods(const StaticFiles& files, const NodeState& node) {
  StaticPlan plan;
  const std::map<std::string, const Pod*> wanted = wanted_pods(files, plan);
  for (const auto& [uid, pod] : node.pods) {
    if (!is_static_pod(pod.record) || wanted.contains(uid)) continue;
    if (!is_leaving(pod) && !is_kept(files, pod.record.pod)) plan.remove.push_back(uid);
  }
  for (const auto& [path, file] : files) {
    if (!file.pod) {
      plan.problems[path] = file.problem;
      continue;
    }
    if (plan.problems.contains(path) || node.pods.contains(file.pod->uid)) continue;
    const PodState* holder = holder_of(node, *file.pod);
    if (holder == nullptr) {
      plan.create.push_back(*file.pod);
    } else if (!is_static_pod(holder->record)) {
      plan.problems[path] = fmt::format(
          "{}: there is a pod {} already, which is not of a file; this one is made "
          "when that is gone",
          path, display_name(*file.pod));
    }
  }
  return plan;
}

}  // namespace corehold
