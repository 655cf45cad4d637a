// SPDX-License-Identifier: Apache-2.0
//
// What decides about pods in the API beside Kubernetes' own rules: gates, and what this node
// can do without.
#pragma once

namespace corehold {

struct PodRules {
  // Gate DownwardAPIAssignedResources: whether `assigned.cpuset` and `assigned.memset` of
  // downward API volumes are checked. Off, they are admitted as they are.
  bool assigned_resources = false;
  // Whether every container must name an image. The process runtime has no use for one.
  bool image_required = true;
};

}  // namespace corehold
