// SPDX-License-Identifier: Apache-2.0
//
// Declared features on this node: what it declares, and which updates of its pods it refuses.
#pragma once

#include <optional>
#include <string_view>

#include "agent/node/node_facts.h"
#include "api/status.h"
#include "config/config.h"
#include "features/own_features.h"
#include "pod/pod.h"

namespace corehold {

// What the node declares: features whose gates are on and that it has, which are those whose
// gates it knows (config/feature_gates.h). No value: gate NodeDeclaredFeatures is off.
std::optional<OwnFeatures> own_features(const Config& config);

// An update of a pod that a client asks for.
struct AskedUpdate {
  const Pod& current;  // as the API shows it
  const Pod& next;
  const Pod* allocated = nullptr;  // with what the node has granted it; null: as shown
  std::string_view subresource{};  // "": the pod itself
};

// The API server's refusal of an update of a bound pod that needs what the node does not
// declare. An update needs nothing that leaves the pod with what it has been granted: a wish
// can be taken back, whatever the gates have become. No value: it may be made, or the gate
// NodeDeclaredFeatures is off.
std::optional<ApiStatus> refuse_update(const NodeFacts& facts, const AskedUpdate& update);

}  // namespace corehold
