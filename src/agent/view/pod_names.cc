// SPDX-License-Identifier: Apache-2.0
#include "agent/view/pod_names.h"

#include "base/check.h"

namespace corehold {

PodNames PodNames::of(const NodeState& node) {
  std::vector<std::string> all;
  all.reserve(node.running.pods.size());
  for (const auto& [uid, pod] : node.running.pods) all.push_back(uid);
  PodNames names;
  names.follow(node, all);
  return names;
}

void PodNames::follow(const NodeState& node, std::span<const std::string> touched) {
  for (const std::string& uid : touched) {
    const auto pod = node.running.pods.find(uid);
    if (pod == node.running.pods.end()) {
      remove(uid);
      continue;
    }
    const Pod& own = pod->second.record.pod;
    const auto known = by_uid_.find(uid);
    if (known != by_uid_.end() && known->second.first == own.namespace_name &&
        known->second.second == own.name) {
      continue;
    }
    remove(uid);
    const Key key{own.namespace_name, own.name};
    by_uid_.emplace(uid, key);
    by_name_[key].insert(uid);
    ++version_;
  }
}

void PodNames::remove(const std::string& uid) {
  const auto known = by_uid_.find(uid);
  if (known == by_uid_.end()) return;
  const auto named = by_name_.find(known->second);
  CHECK(named != by_name_.end());
  named->second.erase(uid);
  if (named->second.empty()) by_name_.erase(named);
  by_uid_.erase(known);
  ++version_;
}

const RunPod* PodNames::find(const NodeState& node, std::string_view namespace_name,
                             std::string_view name) const {
  const auto named = by_name_.find(Order::View{namespace_name, name});
  if (named == by_name_.end()) return nullptr;
  const auto pod = node.running.pods.find(*named->second.begin());
  return pod == node.running.pods.end() ? nullptr : &pod->second;
}

}  // namespace corehold
