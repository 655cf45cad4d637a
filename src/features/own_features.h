// SPDX-License-Identifier: Apache-2.0
//
// OwnFeatures: what a node declares of itself, and which pods it therefore refuses: a
// kubelet's admission by declared features. A value, made once when the node starts.
#pragma once

#include <optional>
#include <string>

#include "features/registry/registry.h"

namespace corehold {

struct OwnFeatures {
  // What the node declares: what its configuration gives it, but for `absent`, features that
  // it does not have whatever the configuration says. `registry` must outlive it.
  // REQUIRES: the configuration has a version; `absent` is a set of the registry.
  static OwnFeatures of(const Registry& registry, NodeConfiguration node, FeatureSet absent);
  static OwnFeatures of(const Registry& registry, NodeConfiguration node);

  const Registry* registry;  // never null
  NodeConfiguration node;
  FeatureSet absent;
  FeatureSet declared;

  std::vector<std::string> names() const;  // what is declared, sorted
};

// Why the node does not declare the feature: "this node does not have it", or what its
// configuration lacks, "its gate is off". REQUIRES: it does not declare it.
std::string why_undeclared(const OwnFeatures& own, const Feature& feature);

// Why the node cannot run the pod: a kubelet's text (match.h), and for each feature that is
// missing what keeps the node from having it. No value: nothing is missing that a node asks
// for (asked_at_admission() in known_features.h).
std::optional<std::string> feature_refusal(const OwnFeatures& own, const Pod& pod);

}  // namespace corehold
