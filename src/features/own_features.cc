// SPDX-License-Identifier: Apache-2.0
#include "features/own_features.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "features/known_features.h"
#include "features/match.h"

namespace corehold {

OwnFeatures OwnFeatures::of(const Registry& registry, NodeConfiguration node) {
  CHECK(node.version.has_value());
  FeatureSet declared = registry.discover(node);
  return {.registry = &registry, .node = std::move(node), .declared = declared};
}

std::vector<std::string> OwnFeatures::names() const {
  auto names = registry->names(declared);
  CHECK(names);
  return *std::move(names);
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
    reasons.push_back(fmt::format("{}: {}", name, fmt::join(obstacles(feature, own.node), ", ")));
  }
  return fmt::format("{} ({})", admission_message(*missing), fmt::join(reasons, "; "));
}

}  // namespace corehold
