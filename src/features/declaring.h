// SPDX-License-Identifier: Apache-2.0
//
// What a kubelet of a configuration would declare, and why not the rest: first the rules of
// the mechanism (its first version, its gate), then those of each feature (feature.h).
// Registry::discover() is the second half only, as in Kubernetes, where a kubelet with the
// gate off does not come to ask it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/registry/registry.h"

namespace corehold {

// The gate of the whole mechanism: off, a node declares nothing and asks nothing of pods.
inline constexpr std::string_view kNodeDeclaredFeaturesGate = "NodeDeclaredFeatures";

// Why a kubelet of this configuration declares nothing, and refuses no pod for a feature:
// "version 1.34.0 is before 1.35, the first that declares features", "gate
// NodeDeclaredFeatures is off", "gate NodeDeclaredFeatures is off by default in 1.35". No
// value: it does both. A gate that the configuration does not name has the version's
// default, on from 1.36; without a version it counts as on.
std::optional<std::string> silence(const NodeConfiguration& node);

// What keeps the node from declaring the feature: silence(), then obstacles(). Empty: it
// declares it.
std::vector<std::string> why_not_declared(const Feature& feature, const NodeConfiguration& node);

// What the node declares.
FeatureSet would_declare(const Registry& registry, const NodeConfiguration& node);

// The gates that a kubelet of that version has on by default, of those that features need.
// No value: not known here.
std::optional<std::map<std::string, bool, std::less<>>> kubelet_default_gates(
    const Version& version);

}  // namespace corehold
