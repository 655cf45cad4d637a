// SPDX-License-Identifier: Apache-2.0
//
// StateDelta: what some pods hold, or all, and what is shared then. Two copies of a State are kept
// in step by it at a cost that follows the change, not the number of pods.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "state/state.h"

namespace corehold {

struct StateDelta {
  enum class Extent {
    kNamedPods,  // nothing is said of other pods
    kAllPods,    // other pods hold nothing: the delta is a whole State
  };
  Extent extent = Extent::kNamedPods;
  std::string policy{};
  CpuSet shared{};
  std::map<std::string, std::optional<PodHoldings>> pods{};  // by UID; no value: holds nothing

  bool operator==(const StateDelta&) const = default;
};

// The policy, the shared set, and everything that the pods with these UIDs hold.
StateDelta delta_of(const State& state, const std::set<std::string>& uids);
// The same with all pods: brings any other State in step, at the cost of a copy.
StateDelta whole_delta(const State& state);

// Afterwards the pods of the delta hold what it says, and nothing but that has changed except
// the policy and the shared set; after a whole delta no other pod holds anything. Applied twice it
// is as applied once.
void apply(State& state, const StateDelta& delta);

}  // namespace corehold
