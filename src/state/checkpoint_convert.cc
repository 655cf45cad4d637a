// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_convert.h"

#include <fmt/format.h>

namespace corehold {
namespace {

Result<void> change_policy(State& state, const std::string& policy) {
  if (policy != "none" && policy != "static") {
    return Error{Code::kInvalid, fmt::format("policy {:?} is neither none nor static", policy)};
  }
  if (state.policy == policy) return {};
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      return Error{
          Code::kConflict,
          fmt::format("cannot change policy {} to {}: container {} of pod {} holds CPUs {}; "
                      "stop it first",
                      state.policy, policy, name, pod, holding.assigned.str())};
    }
  }
  state.policy = policy;
  state.pods.clear();
  state.shared.clear();
  return {};
}

Result<void> change_reserved(State& state, const ReservedChange& change) {
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (!holding.assigned.intersects(change.cpus)) continue;
      return Error{
          Code::kConflict,
          fmt::format("cannot reserve CPUs {}: container {} of pod {} holds CPUs {} and "
                      "would have to move; stop it first",
                      change.cpus.str(), name, pod, (holding.assigned & change.cpus).str())};
    }
  }
  if (state.shared.empty()) return {};
  if (change.use == ReservedUse::kShared) {
    state.shared |= change.cpus;
    return {};
  }
  if (state.shared.is_subset_of(change.cpus)) {
    return Error{
        Code::kConflict,
        fmt::format("cannot reserve CPUs {} strictly: nothing would be left of the default "
                    "set {}",
                    change.cpus.str(), state.shared.str())};
  }
  state.shared -= change.cpus;
  return {};
}

}  // namespace

Result<State> convert_state(State state, const ConvertRequest& request) {
  if (request.policy) TRY(change_policy(state, *request.policy));
  if (request.reserved) TRY(change_reserved(state, *request.reserved));
  return state;
}

}  // namespace corehold
