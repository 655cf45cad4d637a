// SPDX-License-Identifier: Apache-2.0
#include "features/registry/feature_set.h"

namespace corehold {
namespace {

Error mixed() {
  return Error{Code::kConflict,
               "the two feature sets are of different registries; build both from one"};
}

}  // namespace

Result<FeatureSet> FeatureSet::without(const FeatureSet& other) const {
  if (!is_of_same_registry(other)) return mixed();
  FeatureSet result = *this;
  for (std::size_t i = 0; i < words_.size(); ++i) result.words_[i] &= ~other.words_[i];
  return result;
}

Result<FeatureSet> FeatureSet::joined(const FeatureSet& other) const {
  if (!is_of_same_registry(other)) return mixed();
  FeatureSet result = *this;
  for (std::size_t i = 0; i < words_.size(); ++i) result.words_[i] |= other.words_[i];
  return result;
}

}  // namespace corehold
