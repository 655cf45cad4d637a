// SPDX-License-Identifier: Apache-2.0
//
// Whether a node has the features that are needed, one node at a time; fleet.h is for
// many. And the texts that say what is missing, as the scheduler, a kubelet and the API
// server show them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "features/node.h"
#include "features/registry/registry.h"

namespace corehold {

struct Match {
  bool fits = false;
  FeatureSet missing;  // empty when it fits
};

// Fails with kConflict for sets of two registries.
Result<Match> match(const FeatureSet& required, const FeatureSet& declared);

// The same against what the node declares. Null is a node that nobody knows: fails with
// kNotFound, "node cannot be nil".
Result<Match> match_node(const Registry& registry, const FeatureSet& required,
                         const FeatureNode* node);

// The scheduler's: "node(s) did not match node declared features: X; Y". Semicolons, since
// a scheduler joins the texts of several nodes with commas.
std::string scheduling_message(std::span<const std::string> missing);

// A kubelet's event, reason kPodFeatureUnsupported: "Pod requires node features that are
// not available: X, Y".
inline constexpr std::string_view kPodFeatureUnsupported = "PodFeatureUnsupported";
std::string admission_message(std::span<const std::string> missing);

}  // namespace corehold
