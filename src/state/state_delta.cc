// SPDX-License-Identifier: Apache-2.0
#include "state/state_delta.h"

namespace corehold {

StateDelta delta_of(const State& state, const std::set<std::string>& uids) {
  StateDelta delta{.policy = state.policy, .shared = state.shared};
  for (const std::string& uid : uids) {
    const auto pod = state.pods.find(uid);
    delta.pods.emplace(uid, pod == state.pods.end() ? std::nullopt : std::optional(pod->second));
  }
  return delta;
}

StateDelta whole_delta(const State& state) {
  StateDelta delta{
      .extent = StateDelta::Extent::kAllPods, .policy = state.policy, .shared = state.shared};
  for (const auto& [uid, holdings] : state.pods) delta.pods.emplace(uid, holdings);
  return delta;
}

void apply(State& state, const StateDelta& delta) {
  if (delta.extent == StateDelta::Extent::kAllPods) state.pods.clear();
  state.policy = delta.policy;
  state.shared = delta.shared;
  for (const auto& [uid, holdings] : delta.pods) {
    if (holdings) {
      state.pods.set(uid, *holdings);
    } else {
      state.pods.erase(uid);
    }
  }
}

}  // namespace corehold
