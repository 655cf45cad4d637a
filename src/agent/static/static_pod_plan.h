// SPDX-License-Identifier: Apache-2.0
//
// What is to be done so that the static pods of a node are those of its files. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/view/pod_names.h"
#include "manager/node_state.h"
#include "pod/pod.h"

namespace corehold {

// What is known of one file below staticPodPath.
struct StaticFile {
  std::optional<Pod> pod{};  // no value: it has not been read, cannot be, or says no pod
  std::string problem{};     // what is wrong with it then; "": it has not been read yet
  std::string last_uid{};    // of the last pod that was read from it; "": none by this agent
};
using StaticFiles = std::map<std::string, StaticFile>;  // by path

struct StaticPlan {
  std::vector<Pod> create{};
  std::vector<std::string> remove{};              // UIDs
  std::map<std::string, std::string> problems{};  // by path: why its pod is not as it says
};

// - A pod whose file is gone, or says something else by now, is removed, with its grace.
// - A pod is created when no other pod has its name: neither its own predecessor, which goes first,
//   nor a pod of the API, which stays.
// - Of two files with the same pod the first counts, in the order of their paths.
// - A file that cannot be read as a pod changes nothing: the pod that it had goes on.
//
// `node` is looked at by the names of its pods, and the UIDs of those that are static: it may
// have thousands of others.
StaticPlan plan_static_pods(const StaticFiles& files, const NodeState& node, const PodNames& names,
                            const std::set<std::string>& static_pods);

}  // namespace corehold
