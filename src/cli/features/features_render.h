// SPDX-License-Identifier: Apache-2.0
//
// The answers of `corehold features` as tables and as JSON. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "features/plan/planner.h"
#include "features/registry/registry.h"

namespace corehold {

// What a node of a configuration declares, and why not the rest.
struct DiscoveredFeatures {
  const NodeConfiguration& node;
  std::vector<std::string> notes{};
};
std::string render_discovered(const Registry& registry, const DiscoveredFeatures& discovered);
std::string render_discovered_json(const Registry& registry, const DiscoveredFeatures& discovered);

// What pods need, by "namespace/name".
using PodNeeds = std::vector<std::pair<std::string, std::vector<std::string>>>;
std::string render_needs(const PodNeeds& needs);
std::string render_needs_json(const PodNeeds& needs);

std::string render_requirements(const Feature& feature);
std::string render_requirements_json(const Feature& feature);

// Tables of all pods; of the first pod, with every node.
std::string render_feature_plan(const Registry& registry, const FeaturePlan& plan);
std::string render_pod_plan(const Registry& registry, const FeaturePlan& plan);
std::string render_feature_plan_json(const Registry& registry, const FeaturePlan& plan);

}  // namespace corehold
