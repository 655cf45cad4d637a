// SPDX-License-Identifier: Apache-2.0
//
// Registry: the features that a component knows, and the questions one may ask with
// them. Immutable once made; features are in the order of their names, and the position
// of a feature is its bit in a FeatureSet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "features/registry/feature.h"
#include "features/registry/feature_set.h"

namespace corehold {

class Registry {
 public:
  // Fails with kInvalid, naming the feature, for one without a gate (what a node declares
  // is temporary, as gates are), with a bad name, its own or a gate's, or registered twice,
  // or with a gate twice, and for more than FeatureSet::kCapacity.
  static Result<Registry> of(std::vector<Feature> features);

  std::span<const Feature> features() const { return features_; }
  const Feature& feature(FeatureId id) const {
    return features_[static_cast<std::size_t>(id.value)];
  }
  // No value: not registered.
  std::optional<FeatureId> find(std::string_view name) const;

  FeatureSet none() const { return FeatureSet(fingerprint_); }
  // Whether it is a set of this registry, or of one with the same features.
  bool owns(const FeatureSet& set) const { return set.is_of_same_registry(none()); }

  // The features of a list that a node declares, in any order; names that are not
  // registered are skipped, as those of newer or older nodes.
  FeatureSet known(std::span<const std::string> names) const;
  // The same, but every name must be registered. Fails with kNotFound, "unknown feature X".
  Result<FeatureSet> set_of(std::span<const std::string> names) const;

  // The names in a set, sorted. Fails with kConflict for a set of another registry.
  Result<std::vector<std::string>> names(const FeatureSet& set) const;

  // What a node of this configuration declares.
  FeatureSet discover(const NodeConfiguration& node) const;

  // The features that a pod needs on its node; that an update of a bound pod needs on
  // it. `target` is the version of the asking component: features that ended before it
  // are everywhere and are not asked for. Fails with kInvalid, "target version cannot be
  // nil", without one.
  Result<FeatureSet> infer_for_scheduling(const Pod& pod,
                                          const std::optional<Version>& target) const;
  Result<FeatureSet> infer_for_update(const Pod& old_pod, const Pod& new_pod,
                                      const std::optional<Version>& target) const;

  // Fails with kNotFound, "feature 'X' not registered".
  Result<Requirements> requirements(std::string_view name) const;

 private:
  Registry() = default;

  std::vector<Feature> features_{};  // by name
  std::uint64_t fingerprint_ = 0;    // of the names
};

}  // namespace corehold
