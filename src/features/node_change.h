// SPDX-License-Identifier: Apache-2.0
//
// NodeChange: what an administrator has in mind for a node, other feature gates or another
// version, and what the node would then declare.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "features/node.h"

namespace corehold {

// The gate of the whole mechanism: off, a node declares nothing.
inline constexpr std::string_view kNodeDeclaredFeaturesGate = "NodeDeclaredFeatures";

struct NodeChange {
  std::string node{};  // "*": every node
  std::map<std::string, bool, std::less<>> gates{};
  std::optional<Version> version{};

  // "NODE=GATES/VERSION": GATES are names with commas between, "Name=false" turns one
  // off; either side of the slash may be left out ("w1=A,B=false", "w1=/1.38.0"). Fails
  // with kInvalid, naming the part.
  static Result<NodeChange> parse(std::string_view text);
};

// The names that the node would declare. A gate that is turned on brings its features,
// everything else that they require taken for given (but the CPU manager's policy, which
// the node's annotation says); one that is turned off takes them away; a version takes
// away what ended before it, and one before 1.35, the first that declares, all. A newer
// version alone brings nothing: which gates it has on is not known here.
std::vector<std::string> declared_after(const Registry& registry, const FeatureNode& node,
                                        const NodeChange& change);

// The gates that a kubelet of that version has on by default, of those that features need.
// No value: not known here.
std::optional<std::map<std::string, bool, std::less<>>> kubelet_default_gates(
    const Version& version);

}  // namespace corehold
