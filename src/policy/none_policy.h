// SPDX-License-Identifier: Apache-2.0
//
// NonePolicy never touches a cpuset: every container runs wherever the kernel
// lets it, and nobody holds CPUs.
#pragma once

#include "policy/policy.h"

namespace corehold {

class NonePolicy final : public Policy {
 public:
  std::string_view name() const override { return "none"; }
  // Fails with kConflict when containers hold CPUs.
  Result<State> start(State state) const override;
  std::optional<HintFamily> hints(const State&, const Request&) const override {
    return std::nullopt;
  }
  std::optional<HintFamily> pod_hints(const State&, const std::vector<Request>&) const override {
    return std::nullopt;
  }
  CpuSet candidates(const State&, const Request&) const override { return {}; }
  Result<Plan> allocate(const State& state, const Request& request) const override;
  std::optional<ResizeTerms> resize_terms() const override { return std::nullopt; }
  Plan release(const State& state, const ContainerRef& container) const override;
};

}  // namespace corehold
