// SPDX-License-Identifier: Apache-2.0
#include "features/own_features.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "features/known_features.h"
#include "features/match.h"

namespace corehold {

OwnFeatures OwnFeatures::of(const Registry& registry, NodeConfiguration node, FeatureSet absent) {
  CHECK(node.version.has_value());
  const auto declared = registry.discover(node).without(absent);
  CHECK(declared);
  return {.registry = &registry, .node = std::move(node), .absent = absent, .declared = *declared};
}

OwnFeatures OwnFeatures::of(const Registry& registry, NodeConfiguration node) {
  return of(registry, std::move(node), registry.none());
}

std::vector<std::string> OwnFeatures::names() const {
  auto names = registry->names(declared);
  CHECK(names);
  return *std::move(names);
}

std::string why_undeclared(const OwnFeatures& own, const Feature& feature) {
  const auto id = own.registry->find(feature.name);
  if (id && own.absent.contains(*id)) return "this node does not have it";
  std::vector<std::string> reasons = obstacles(feature, own.node);
  // Whoever reads it has just read the name.
  std::replace(reasons.begin(), reasons.end(), fmt::format("gate {} is off", feature.name),
               std::string("its gate is off"));
  return fmt::format("{}", fmt::join(reasons, ", "));
}

std::optional<std::string> feature_refusal(const OwnFeatures& own, const Pod& pod) {
  const auto required = own.registry->infer_for_scheduling(pod, own.node.version);
  CHECK(required);
  const auto found = match(asked_at_admission(*own.registry, *required), own.declared);
  CHECK(found);
  if (found->fits) return std::nullopt;
  const auto missing = own.registry->names(found->missing);
  CHECK(missing);
  std::vector<std::string> reasons;
  for (const std::string& name : *missing) {
    const Feature& feature = own.registry->feature(*own.registry->find(name));
    const std::string whose = missing->size() == 1 ? "" : name + ": ";
    reasons.push_back(whose + why_undeclared(own, feature));
  }
  return fmt::format("{} ({})", admission_message(*missing), fmt::join(reasons, "; "));
}

}  // namespace corehold
