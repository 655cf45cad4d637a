// SPDX-License-Identifier: Apache-2.0
#include "agent/node/feature_rules.h"

#include "api/node/node_object.h"
#include "api/serve/discovery.h"
#include "base/check.h"
#include "config/node_configuration.h"
#include "features/known_features.h"
#include "features/node.h"
#include "features/update_check.h"

namespace corehold {
namespace {

static_assert(kFeaturesAnnotation == kDeclaredFeaturesAnnotation);
static_assert(kPolicyAnnotation == kCpuManagerPolicyAnnotation);

}  // namespace

std::optional<OwnFeatures> own_features(const Config& config) {
  if (!config.gates.is_on(Gate::kNodeDeclaredFeatures)) return std::nullopt;
  NodeConfiguration node = node_configuration(config);
  auto version = Version::parse(kKubernetesVersion);
  CHECK(version);
  node.version = *std::move(version);
  const Registry& registry = extension_registry();
  FeatureSet absent = registry.none();
  for (const Feature& feature : registry.features()) {
    if (find_gate(feature.name) == nullptr) absent.insert(*registry.find(feature.name));
  }
  return OwnFeatures::of(registry, std::move(node), absent);
}

std::optional<ApiStatus> refuse_update(const NodeFacts& facts, const AskedUpdate& update) {
  if (!facts.features) return std::nullopt;
  const FeatureNode node{.name = facts.name,
                         .declared_features = facts.features->names(),
                         .annotations = {{std::string(kCpuManagerPolicyAnnotation),
                                          std::string(facts.setup.policy->name())}}};
  const auto check_from = [&](const Pod& old_pod) {
    return check_update(*facts.features->registry, {old_pod, update.next, update.subresource},
                        &node, facts.features->node.version);
  };
  const auto checked = check_from(update.current);
  if (checked) return std::nullopt;
  if (update.allocated != nullptr && check_from(*update.allocated)) return std::nullopt;
  return forbidden("pods", update.next.name, checked.error().message);
}

}  // namespace corehold
