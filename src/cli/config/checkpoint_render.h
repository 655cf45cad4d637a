// SPDX-License-Identifier: Apache-2.0
//
// A Checkpoint as text for people and as JSON for programs. Pure: the same
// checkpoint gives the same bytes.
#pragma once

#include <string>

#include "state/checkpoint.h"

namespace corehold {

// What it is in two columns, then a row per container. Text from the file is shown
// with control characters escaped.
std::string render_checkpoint_table(const Checkpoint& checkpoint);

// One JSON object, keys in this order:
//   version        "v1", "v2", "kubelet v3", "v3" or "v4"
//   policyName, defaultCpuSet
//   containers     [{podUID, container, assigned, promised}]; v1: [{containerID, assigned}];
//                  promised only where the file has it
//   podEntries     {pod UID: set}, only when there are any
//   checksum, checksumState   "matches", or "absent" for a checksum of 0
std::string render_checkpoint_json(const Checkpoint& checkpoint);

// "read as v2, policy static, 2 containers, checksum 7 matches"
std::string summarize(const Checkpoint& checkpoint);

}  // namespace corehold
