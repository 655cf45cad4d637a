// SPDX-License-Identifier: Apache-2.0
//
// NodeChange: what an administrator has in mind for a node, other feature gates or another
// version, and what the node would then declare.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "features/node.h"

namespace corehold {

struct NodeChange {
  std::string node{};  // "*": every node
  std::map<std::string, bool, std::less<>> gates{};
  std::optional<Version> version{};

  // "NODE=GATES/VERSION": GATES are names with commas between, "Name=false" turns one
  // off; either side of the slash may be left out ("w1=A,B=false", "w1=/1.38.0"). Fails
  // with kInvalid, naming the part.
  static Result<NodeChange> parse(std::string_view text);

  bool is_empty() const { return gates.empty() && !version; }
};

// All changes of one node as one; where two speak of the same gate or of the version, the
// later counts. Empty for a node that none speaks of.
NodeChange change_of(std::span<const NodeChange> changes, std::string_view node);

// How a node would be.
struct NodeAfter {
  std::vector<std::string> declared{};  // names, sorted
  // Why its kubelet would declare nothing and ask no pod for features (declaring.h); no
  // value: it would.
  std::optional<std::string> silent{};
  // Features that a gate of the change is for and that the node would not declare all the
  // same, and why.
  std::vector<std::pair<std::string, std::string>> unmet{};
};

// How the node would be after the change; with an empty one, how it is. A gate that is
// turned on brings its features, everything else that they require taken for given (but the
// CPU manager's policy, which the node's annotation says); one that is turned off takes
// them away. The kubelet's rules hold (declaring.h), with the version of the change or else
// the node's own; a version takes away what ended before it, and brings nothing: which
// gates it has on is not known here. What Corehold's agent declares does not depend on
// the version of the kubelet beside it: what the annotation names, and Corehold's own
// features.
NodeAfter node_after(const Registry& registry, const FeatureNode& node, const NodeChange& change);

}  // namespace corehold
