// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_pod_plan.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "agent/static/static_pod_file.h"

namespace corehold {
namespace {

std::string file_of(const Pod& pod) {
  const auto found = pod.annotations.find(std::string(kConfigFile));
  return found == pod.annotations.end() ? "" : found->second;
}

bool is_being_deleted(const RunPod& pod) { return pod.record.deleted_at != WallTime{}; }

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

// Whether the pod came from the file, which cannot be read as a pod now. After a restart of the
// agent only the pod's annotation says which file that was.
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

}  // namespace

StaticPlan plan_static_pods(const StaticFiles& files, const NodeState& node, const PodNames& names,
                            const std::set<std::string>& static_pods) {
  StaticPlan plan;
  const std::map<std::string, const Pod*> wanted = wanted_pods(files, plan);
  for (const std::string& uid : static_pods) {
    const auto pod = node.running.pods.find(uid);
    if (pod == node.running.pods.end() || wanted.contains(uid)) continue;
    if (!is_being_deleted(pod->second) && !is_kept(files, pod->second.record.pod)) {
      plan.remove.push_back(uid);
    }
  }
  for (const auto& [path, file] : files) {
    if (!file.pod) {
      if (!file.problem.empty()) plan.problems[path] = file.problem;
      continue;
    }
    if (plan.problems.contains(path) || node.running.pods.contains(file.pod->uid)) continue;
    const RunPod* holder = names.find(node, file.pod->namespace_name, file.pod->name);
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
