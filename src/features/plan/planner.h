// SPDX-License-Identifier: Apache-2.0
//
// Which of a cluster's nodes can run which of its pods, and how that changes when nodes
// are upgraded or their gates flipped: from the lists that `kubectl get -o json` prints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "features/plan/node_change.h"
#include "features/registry/registry.h"

namespace corehold {

// Nodes that lack the same features.
struct NodesLacking {
  std::vector<std::string> features{};
  std::vector<std::string> nodes{};  // sorted
};

// Who fits, and what the others lack; every node is in one of them.
struct NeedAnswer {
  std::vector<std::string> fits{};     // nodes, sorted
  std::vector<NodesLacking> others{};  // the most nodes first
};

// How it would be after the changes.
struct NeedAfter {
  NeedAnswer answer{};
  std::vector<std::string> gains{};   // nodes that fit then and do not now
  std::vector<std::string> losses{};  // nodes that fit now and do not then
};

// What pods need that need the same, and who has it.
struct FeatureNeed {
  std::vector<std::string> features{};  // empty: nothing
  NeedAnswer now{};
  std::optional<NeedAfter> then{};  // where changes were asked about
};

struct PodPlan {
  std::string pod{};     // "namespace/name"
  std::string node{};    // spec.nodeName; "": not bound
  std::size_t need = 0;  // position in FeaturePlan::needs
};

struct FeaturePlan {
  std::size_t nodes = 0;
  std::vector<FeatureNeed> needs{};
  std::vector<PodPlan> pods{};  // in the order given
  // What one should know: names that nodes may not declare, nodes of unknown version, gates
  // that would bring nothing, bound pods whose node lacks, or would lack, what they need.
  std::vector<std::string> notes{};
};

// All changes of a node count together (change_of() in node_change.h).
//
// Fails with kInvalid for two nodes of one name, kNotFound for a change of a node that is
// not in the list.
Result<FeaturePlan> plan_features(const Registry& registry, std::span<const Pod> pods,
                                  std::span<const FeatureNode> nodes,
                                  std::span<const NodeChange> changes, const Version& target);

// What a node must have to declare the feature: "gate X, cpuManagerPolicy static, runtime
// feature Y".
std::string requirements_text(const Requirements& requirements);

}  // namespace corehold
