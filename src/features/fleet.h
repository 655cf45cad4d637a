// SPDX-License-Identifier: Apache-2.0
//
// Fleet: what many nodes declare, turned on its side: for each feature one bit per node.
// Which of 100,000 nodes fit a pod is then a few ANDs over 12 kB each, and a change of
// one node a few bits. Nodes have a place for as long as they are in the fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "features/node_mask.h"
#include "features/registry/registry.h"

namespace corehold {

class Fleet {
 public:
  // Nodes that lack the same features.
  struct Shortage {
    FeatureSet missing;
    NodeMask nodes;
    std::size_t count = 0;
  };
  // Every node of the fleet is in `fitting` or in one shortage.
  struct Answer {
    NodeMask fitting{};
    std::size_t fitting_count = 0;
    std::vector<Shortage> shortages{};  // the largest first
  };

  explicit Fleet(const Registry& registry);
  Fleet(Fleet&&) = default;
  Fleet& operator=(Fleet&&) = default;

  // The node declares this now; a node that is not there yet is added. Fails with
  // kConflict for a set of another registry; nothing changes then.
  Result<void> set(std::string_view node, const FeatureSet& declared);
  // A node that is not there: nothing happens.
  void remove(std::string_view node);

  std::size_t size() const { return places_.size(); }
  // What the node declares; no value: it is not there.
  std::optional<FeatureSet> declared(std::string_view node) const;

  // The nodes that have all that is required. Fails with kConflict for a set of another
  // registry.
  Result<NodeMask> fitting(const FeatureSet& required) const;
  // The same, and what the others lack.
  Result<Answer> answer(const FeatureSet& required) const;

  // The names of the nodes, sorted.
  std::vector<std::string> names(const NodeMask& nodes) const;

 private:
  struct TextHash : std::hash<std::string_view> {
    // NOLINTNEXTLINE(readability-identifier-naming): the standard library looks for this name
    using is_transparent = void;
  };

  // A free place, with room for it in every column.
  std::size_t new_place();
  // The features of a set of this registry that are in it.
  std::vector<std::size_t> columns_of(const FeatureSet& set) const;

  FeatureSet none_;                  // of the registry
  std::vector<NodeMask> columns_{};  // by feature
  NodeMask present_{};
  // Only looked up, never walked. Keys stay where they are: names_ points at them.
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> places_{};
  std::vector<const std::string*> names_{};  // by place; null: free
  std::vector<std::size_t> free_{};
};

}  // namespace corehold
