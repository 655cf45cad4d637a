// SPDX-License-Identifier: Apache-2.0
#include "features/match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corehold {

Result<Match> match(const FeatureSet& required, const FeatureSet& declared) {
  const FeatureSet missing = TRY(required.without(declared));
  return Match{.fits = missing.empty(), .missing = missing};
}

Result<Match> match_node(const Registry& registry, const FeatureSet& required,
                         const FeatureNode* node) {
  if (node == nullptr) return Error{Code::kNotFound, "node cannot be nil"};
  return match(required, declared_set(registry, *node));
}

std::string scheduling_message(std::span<const std::string> missing) {
  return fmt::format("node(s) did not match node declared features: {}", fmt::join(missing, "; "));
}

std::string admission_message(std::span<const std::string> missing) {
  return fmt::format("Pod requires node features that are not available: {}",
                     fmt::join(missing, ", "));
}

}  // namespace corehold
