// SPDX-License-Identifier: Apache-2.0
//
// What decides about pods in the API beside Kubernetes' own rules: gates, and what this node
// can do without.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pod/pod.h"

namespace corehold {

// What the node adds that is to run the pods.
struct NodeRules {
  std::string name{};  // the only node that spec.nodeName may name; "": it may name any
  // What of a pod the runtime cannot run, as "field path: what is wrong"; null: it runs all pods.
  std::function<std::vector<std::string>(const Pod&)> unrunnable{};
};

struct PodRules {
  // Gate DownwardAPIAssignedResources: whether `assigned.cpuset` and `assigned.memset` of
  // downward API volumes are checked. Off, they are admitted as they are.
  bool assigned_resources = false;
  // Whether every container must name an image. The process runtime has no use for one.
  bool image_required = true;
  std::optional<NodeRules> node{};  // no value: pods are for any node
};

}  // namespace corehold
