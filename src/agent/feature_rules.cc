// SPDX-License-Identifier: Apache-2.0
#include "agent/feature_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/discovery.h"
#include "api/node_object.h"
#include "base/check.h"
#include "config/node_configuration.h"
#include "features/known_features.h"
#include "features/node.h"
#include "features/update_check.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

static_assert(kFeaturesAnnotation == kDeclaredFeaturesAnnotation);
static_assert(kPolicyAnnotation == kCpuManagerPolicyAnnotation);

constexpr std::array kHere{kAssignedResourcesFeature, kExclusiveCpusFeature,
                           std::string_view("RestartAllContainersOnContainerExits")};

bool is_here(const std::string& feature) {
  return std::find(kHere.begin(), kHere.end(), feature) != kHere.end();
}

}  // namespace

std::optional<OwnFeatures> own_features(const Config& config) {
  if (!config.gates.is_on(Gate::kNodeDeclaredFeatures)) return std::nullopt;
  NodeConfiguration node = node_configuration(config);
  for (const std::string& feature : features_not_here(config)) node.gates[feature] = false;
  auto version = Version::parse(kKubernetesVersion);
  CHECK(version);
  node.version = *std::move(version);
  return OwnFeatures::of(extension_registry(), std::move(node));
}

std::vector<std::string> features_not_here(const Config& config) {
  const NodeConfiguration node = node_configuration(config);
  std::vector<std::string> names;
  for (const Feature& feature : extension_registry().features()) {
    const auto gate = node.gates.find(feature.name);
    const bool is_on = gate != node.gates.end() && gate->second;
    if (is_on && !is_here(feature.name)) names.push_back(feature.name);
  }
  return names;
}

std::optional<ApiStatus> refuse_update(const NodeFacts& facts, const boost::json::object& current,
                                       const boost::json::object& next,
                                       std::string_view subresource) {
  if (!facts.features) return std::nullopt;
  const auto old_pod = pod_from_json(current);
  const auto new_pod = pod_from_json(next);
  if (!old_pod || !new_pod) return std::nullopt;  // whoever stores it says why
  const FeatureNode node{.name = facts.name,
                         .declared_features = facts.features->names(),
                         .annotations = {{std::string(kCpuManagerPolicyAnnotation),
                                          std::string(facts.setup.policy->name())}}};
  const auto checked = check_update(*facts.features->registry, {*old_pod, *new_pod, subresource},
                                    &node, facts.features->node.version);
  if (checked) return std::nullopt;
  return ApiStatus{.reason = StatusReason::kForbidden,
                   .message = fmt::format("pods \"{}\" is forbidden: {}", new_pod->name,
                                          checked.error().message),
                   .kind = "pods",
                   .name = new_pod->name};
}

}  // namespace corehold
