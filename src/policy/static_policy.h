// SPDX-License-Identifier: Apache-2.0
//
// StaticPolicy gives exclusive CPUs to containers entitled to them (KEP-3570) and
// leaves the rest to everybody else. Reserved CPUs are never given; with
// strict-cpu-reservation (KEP-4540) nobody else runs there either.
#pragma once

#include "alloc/take.h"
#include "policy/options.h"
#include "policy/policy.h"
#include "state/invariants.h"
#include "topology/topology.h"

namespace corehold {

struct StaticConfig {
  StaticOptions options{};
  // The CPUs to reserve; empty: reserved_count of them are chosen by topology.
  CpuSet reserved{};
  // How many CPUs are reserved; of a list that is given, its size.
  int reserved_count = 0;
  TopologyPolicy topology_policy = TopologyPolicy::kNone;
};

class StaticPolicy final : public Policy {
 public:
  // Fails with kInvalid when the options do not suit the machine, or the reserved set
  // cannot be had: not on the machine, or not of the size asked for.
  // `topology` must outlive the policy.
  static Result<StaticPolicy> make(const Topology& topology, const StaticConfig& config);

  std::string_view name() const override { return "static"; }
  Result<State> start(State state) const override;
  std::optional<HintFamily> hints(const State& state, const Request& request) const override;
  std::optional<HintFamily> pod_hints(const State& state,
                                      const std::vector<Request>& requests) const override;
  CpuSet candidates(const State& state, const Request& request) const override;
  Result<Plan> allocate(const State& state, const Request& request) const override;
  std::optional<ResizeTerms> resize_terms() const override;
  Plan release(const State& state, const ContainerRef& container) const override;

  // Stricter than start(), for a node that is to be trusted: something is reserved, no
  // CPU is held by two pods, promised sets are kept, cores are whole. By name.
  Result<void> check_start(const State& state) const;

  const CpuSet& reserved() const { return reserved_; }
  // Reserved CPUs and their siblings.
  const CpuSet& reserved_cores() const { return reserved_cores_; }
  const StaticOptions& options() const { return options_; }
  Rules rules() const;

 private:
  StaticPolicy(const Topology& topology, const StaticConfig& config);

  // Every CPU this policy manages: all, or all but the strictly reserved.
  CpuSet managed() const;
  TakeOptions take_options() const;
  int fewest_shared() const;
  Result<void> check_alignment(const State& state, int count) const;
  Error too_few_cores(int free, int count) const;
  // As many CPUs as asked for out of `pool`, those near the affinity first.
  Result<CpuSet> choose(const CpuSet& pool, const Request& request) const;
  // The same; quiet CPUs alone where the request prefers them and they suffice near the affinity.
  Result<CpuSet> choose_preferred(const CpuSet& pool, const Request& request) const;
  Result<CpuSet> choose_whole_cores(const CpuSet& pool, const Request& request) const;
  Result<CpuSet> choose_reused_first(const CpuSet& pool, const CpuSet& reused,
                                     const Request& request) const;
  HintFamily hints_for(const CpuSet& available, const CpuSet& reusable, int count) const;
  bool splits_cores(const CpuSet& cpus) const;
  CpuSet aligned_part(const CpuSet& pool, const NodeSet& affinity) const;
  Result<void> check_shared_pool(const CpuSet& left) const;

  const Topology* topology_;  // never null
  StaticOptions options_;
  CpuSet reserved_;
  CpuSet reserved_cores_;
};

}  // namespace corehold
