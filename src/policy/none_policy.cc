// SPDX-License-Identifier: Apache-2.0
#include "policy/none_policy.h"

#include <fmt/format.h>

namespace corehold {

Result<State> NonePolicy::start(State state) const {
  if (!state.pods.empty()) {
    const auto& [pod, containers] = *state.pods.begin();
    return Error{
        Code::kConflict,
        fmt::format("policy none cannot start: container {} of pod {} holds CPUs {}",
                    containers.begin()->first, pod, containers.begin()->second.assigned.str())};
  }
  state.policy = name();
  return state;
}

Result<Plan> NonePolicy::allocate(const State&, const Request&) const { return Plan{}; }

Plan NonePolicy::release(const State&, const ContainerRef&) const { return {}; }

}  // namespace corehold
