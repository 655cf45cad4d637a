// SPDX-License-Identifier: Apache-2.0
#include "agent/feature_rules.h"

#include <algorithm>
#include <array>

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

// Of RestartAllContainersOnContainerExits there is no more than that such pods are let in.
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

std::optional<ApiStatus> refuse_update(const NodeFacts& facts, const AskedUpdate& update) {
  if (!facts.features) return std::nullopt;
  const auto shown = pod_from_json(update.current);
  const auto wanted = pod_from_json(update.next);
  if (!shown || !wanted) return std::nullopt;  // whoever stores it says why
  const FeatureNode node{.name = facts.name,
                         .declared_features = facts.features->names(),
                         .annotations = {{std::string(kCpuManagerPolicyAnnotation),
                                          std::string(facts.setup.policy->name())}}};
  const auto check_from = [&](const Pod& old_pod) {
    return check_update(*facts.features->registry, {old_pod, *wanted, update.subresource}, &node,
                        facts.features->node.version);
  };
  const auto checked = check_from(*shown);
  if (checked) return std::nullopt;
  if (update.allocated != nullptr && check_from(*update.allocated)) return std::nullopt;
  return forbidden("pods", wanted->name, checked.error().message);
}

}  // namespace corehold
