// SPDX-License-Identifier: Apache-2.0
//
// Which pod has which name: the pods of the node by namespace and name, so that a request for
// one pod does not look at all of them. Follows the node by the pods that each turn has touched.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manager/node_state.h"

namespace corehold {

class PodNames {
 public:
  // The names of all pods of a node.
  static PodNames of(const NodeState& node);

  // The pods with these UIDs have come, may have changed, or have gone.
  void follow(const NodeState& node, std::span<const std::string> touched);

  // The pod of `node`, which must be the node that was followed last; of several pods with the
  // same name the one with the lowest UID. Null: no pod has the name.
  const RunPod* find(const NodeState& node, std::string_view namespace_name,
                     std::string_view name) const;

  // Another number whenever a pod has come or gone.
  std::uint64_t version() const { return version_; }

  bool has_same_names(const PodNames& other) const { return by_uid_ == other.by_uid_; }

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  // So that a look-up needs no copies of the two texts.
  struct Order {
    // What the standard library looks for: NOLINTNEXTLINE(readability-identifier-naming)
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    static View view(const Key& key) { return {key.first, key.second}; }
    static View view(const View& key) { return key; }
    template <typename Left, typename Right>
    bool operator()(const Left& left, const Right& right) const {
      return view(left) < view(right);
    }
  };

  void remove(const std::string& uid);

  std::map<std::string, Key> by_uid_{};
  std::map<Key, std::set<std::string>, Order> by_name_{};
  std::uint64_t version_ = 0;
};

}  // namespace corehold
