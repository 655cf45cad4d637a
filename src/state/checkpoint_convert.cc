// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_convert.h"

#include <fmt/format.h>

#include "state/checkpoint_check.h"

namespace corehold {
namespace {

Result<void> change_policy(State& state, const std::string& policy) {
  if (!is_policy_name(policy)) {
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

// A state of another machine, or of this one before it lost CPUs, cannot be made to fit.
Result<void> check_machine(const State& state, const CpuSet& online) {
  const auto lacks = [&online](const std::string& who, const CpuSet& cpus) {
    return Error{Code::kConflict,
                 fmt::format("{} holds CPUs {}, which the machine lacks; it has CPUs {}", who,
                             (cpus - online).str(), online.str())};
  };
  if (!state.shared.is_subset_of(online)) return lacks("the default set", state.shared);
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (holding.assigned.is_subset_of(online)) continue;
      return lacks(fmt::format("container {} of pod {}", name, pod), holding.assigned);
    }
  }
  return {};
}

Result<void> check_reserved(const State& state, const ReservedChange& change) {
  const auto cannot = [&change](Code code, const std::string& why) {
    return Error{code, fmt::format("cannot reserve CPUs {}: {}", change.cpus.str(), why)};
  };
  if (change.cpus.empty()) {
    return Error{Code::kInvalid, "no CPUs to reserve: policy static needs at least one"};
  }
  if (state.policy != "static") {
    return cannot(Code::kInvalid, fmt::format("policy {} reserves none", state.policy));
  }
  if (!change.cpus.is_subset_of(change.online)) {
    return cannot(Code::kInvalid,
                  fmt::format("the machine lacks CPUs {}; it has CPUs {}",
                              (change.cpus - change.online).str(), change.online.str()));
  }
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (!holding.assigned.intersects(change.cpus)) continue;
      return cannot(
          Code::kConflict,
          fmt::format("container {} of pod {} holds CPUs {} and would have to move; stop it first",
                      name, pod, (holding.assigned & change.cpus).str()));
    }
  }
  return {};
}

Result<void> change_reserved(State& state, const ReservedChange& change) {
  TRY(check_reserved(state, change));
  const CpuSet exclusive = state.exclusive();
  state.shared = change.online - exclusive;
  if (change.use == ReservedUse::kSystemOnly) state.shared -= change.cpus;
  if (!state.shared.empty()) return {};
  return Error{Code::kConflict,
               fmt::format("cannot reserve CPUs {} strictly: nothing would be left for the default "
                           "set; the machine has CPUs {}, containers hold {}",
                           change.cpus.str(), change.online.str(),
                           exclusive.empty() ? "none" : exclusive.str())};
}

}  // namespace

Result<State> convert_state(State state, const ConvertRequest& request) {
  if (request.reserved) TRY(check_machine(state, request.reserved->online));
  if (request.policy) TRY(change_policy(state, *request.policy));
  if (request.reserved) TRY(change_reserved(state, *request.reserved));
  return state;
}

}  // namespace corehold
