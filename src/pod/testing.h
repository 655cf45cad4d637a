// SPDX-License-Identifier: Apache-2.0
//
// Pods for tests, one line for each container.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pod/pod.h"

namespace corehold {

// A pod with this name and UID, of containers such as "main cpu=2 memory=4Gi
// example.com/nic=1", "init:setup cpu=4" and "sidecar:proxy cpu=500m". An amount is request
// and limit; "cpu=1..2" asks for 1 and is limited to 2, "cpu=1.." has no limit.
// REQUIRES: well-formed lines.
Pod pod_of(std::string_view name, const std::vector<std::string>& containers);

// Gives a container of such a pod a rule: when it ends with this code, it wants that action.
// REQUIRES: the pod has the container.
void add_restart_rule(Pod& pod, std::string_view container, int code, std::string_view action);

}  // namespace corehold
