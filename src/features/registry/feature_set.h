// SPDX-License-Identifier: Apache-2.0
//
// FeatureSet: some of the features of one registry, as a bitmap. A value. It knows which
// registry's it is, by the features that one holds, so sets of two registries that
// mean different things by a bit never meet: the operations below fail instead.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/id.h"
#include "base/result.h"

namespace corehold {

using FeatureId = Id<struct FeatureTag>;  // position of a feature in its registry, by name

class FeatureSet {
 public:
  static constexpr std::size_t kCapacity = 256;  // features of a registry
  static constexpr std::size_t kWordBits = 64;

  std::size_t size() const {
    std::size_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  bool empty() const { return size() == 0; }

  // REQUIRES: the id is one of this set's registry.
  bool contains(FeatureId id) const { return (words_[word_of(id)] & bit_of(id)) != 0; }
  void insert(FeatureId id) { words_[word_of(id)] |= bit_of(id); }
  void erase(FeatureId id) { words_[word_of(id)] &= ~bit_of(id); }

  bool is_of_same_registry(const FeatureSet& other) const { return registry_ == other.registry_; }

  // What is in this set and not in the other. Fails with kConflict when the other is a
  // set of another registry.
  Result<FeatureSet> without(const FeatureSet& other) const;
  // What is in this set, in the other or in both. Fails as without().
  Result<FeatureSet> joined(const FeatureSet& other) const;

  // Sets of different registries are never equal.
  bool operator==(const FeatureSet&) const = default;

 private:
  friend class Registry;

  explicit FeatureSet(std::uint64_t registry) : registry_(registry) {}

  static std::size_t word_of(FeatureId id) {
    return static_cast<std::size_t>(id.value) / kWordBits;
  }
  static std::uint64_t bit_of(FeatureId id) {
    return std::uint64_t{1} << (static_cast<std::size_t>(id.value) % kWordBits);
  }

  std::uint64_t registry_;  // hash of the names of its features
  std::array<std::uint64_t, kCapacity / kWordBits> words_{};
};

}  // namespace corehold
