// SPDX-License-Identifier: Apache-2.0
//
// What is to be done so that the static pods of a node are those of its files. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manager/node_state.h"
#include "pod/pod.h"

namespace corehold {

// What is known of one file below staticPodPath.
struct StaticFile {
  std::optional<Pod> pod{};  // no value: it cannot be read or says no pod
  std::string problem{};     // what is wrong with it then
  std::string last_uid{};    // of the pod it held when it was last in order; "": not in this life
};
using StaticFiles = std::map<std::string, StaticFile>;  // by path

struct StaticPlan {
  std::vector<Pod> create{};
  std::vector<std::string> remove{};              // UIDs
  std::map<std::string, std::string> problems{};  // by path: why its pod is not as it says
};

// - A pod whose file is gone, or says something else by now, is removed, with its grace.
// - A pod is created when nobody has its name any more: neither its former self nor a pod of
//   the API, which stays what it is.
// - Of two files with the same pod the first counts, in the order of their paths.
// - A file that is in disorder changes nothing: the pod it held goes on.
StaticPlan plan_static_pods(const StaticFiles& files, const NodeState& node);

}  // namespace corehold
