// SPDX-License-Identifier: Apache-2.0
//
// For autoscalers: which groups of nodes, of which none may exist yet, would fit a pod,
// from the configuration that their nodes would have. What one such node would declare
// is would_declare() (declaring.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "features/registry/registry.h"

namespace corehold {

struct NodeGroup {
  std::string name{};
  NodeConfiguration node{};  // of each of its nodes
};

// A feature that the nodes of a group would not declare, and what keeps them from it.
struct Lack {
  std::string feature{};
  std::vector<std::string> obstacles{};  // as of why_not_declared(); never empty
};

struct GroupAnswer {
  std::string group{};
  std::vector<Lack> lacks{};  // by name; empty: a node of the group would fit

  bool fits() const { return lacks.empty(); }
};

// One answer for each group, in their order. Fails with kConflict for a set of another
// registry.
Result<std::vector<GroupAnswer>> match_groups(const Registry& registry, const FeatureSet& required,
                                              std::span<const NodeGroup> groups);

}  // namespace corehold
