// SPDX-License-Identifier: Apache-2.0
//
// What `corehold features` reads: pods, nodes, and the changes of nodes that --set speaks of.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "features/plan/node_change.h"
#include "features/registry/registry.h"
#include "pod/pod.h"

namespace corehold {

// The text of a file; "-" is standard input. Fails with kNotFound, "FILE: no such file".
Result<std::string> read_input(const std::string& file, std::size_t max_size);

// All pods of a file, ended ones too.
Result<std::vector<Pod>> pods_of_file(const std::string& file);

// Two states of one pod.
struct ChangedPod {
  Pod old_pod{};
  Pod new_pod{};
};
// Fails with kInvalid for files that do not hold one pod each, the same one.
Result<ChangedPod> read_changed_pod(const std::string& old_file, const std::string& new_file);

// The pods and nodes of a cluster.
struct Cluster {
  std::vector<Pod> pods{};  // that have not ended
  std::vector<FeatureNode> nodes{};
  std::vector<std::string> notes{};  // which pods were left out
};
// Files that are each other's are told apart in the message. `pod` ("namespace/name", or
// a name in namespace default) is the only one wanted; "": all.
Result<Cluster> read_cluster(const std::string& pods_file, const std::string& nodes_file,
                             const std::string& pod);

// Fails with kInvalid for a text that is no change, and for a gate that no feature of the
// registry needs.
Result<std::vector<NodeChange>> read_changes(const Registry& registry,
                                             const std::vector<std::string>& texts);

}  // namespace corehold
