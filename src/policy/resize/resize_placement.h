// SPDX-License-Identifier: Apache-2.0
//
// ResizePlacement: which CPUs the containers of a resize have afterwards, given what is
// shared. The same question is put several times: with what is shared now, as if all
// other pods had left, and as if some had; nothing is copied for that but a set of CPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/resize/resize.h"

namespace corehold {

// A container whose number of CPUs changes.
struct CpuChange {
  const Container* container = nullptr;  // as wanted
  const Holding* holding = nullptr;      // what it has
  std::int64_t asked = 0;                // what it is to have
  int count = 0;                         // the same, as far as numbers of CPUs go
};

struct PlacementFailure {
  const CpuChange* change = nullptr;     // null: the pod as a whole
  std::string text{};                    // the kubelet's
  std::optional<Alignment> alignment{};  // where the topology policy cannot be met
  CpuSet usable{};                       // CPUs it could have been given
};

// What numbers alone say of a growth: so many CPUs more, on so many NUMA nodes at the most,
// among which are `required`.
struct GrowthLimit {
  std::int64_t growth = 0;
  int most_nodes = 0;
  NodeSet required{};
};

// Whether a resize fits, as far as numbers alone tell.
enum class Outlook { kNever, kOpen, kSure };

struct PlacedResize {
  std::vector<ContainerResize> containers{};  // shrinks, then grows
  std::optional<PlacementFailure> failure{};
};

class ResizePlacement {
 public:
  // The referred must outlive it.
  ResizePlacement(const AdmissionRules& rules, const ResizeTerms& terms, const Bookings& bookings,
                  const Pod& wanted);

  // Whether any container's CPUs change.
  bool is_needed() const { return !shrinks_.empty() || !grows_.empty(); }

  // Where several containers grow, some of them may only fit if others choose first:
  // other orders are tried, all of them for up to four containers.
  PlacedResize run(const CpuSet& shared) const;

  // The limits of this resize, and what they say of run(shared), for a fraction of its cost.
  // What is not kNever is not kNever with more CPUs shared either.
  std::vector<GrowthLimit> limits() const;
  Outlook outlook(const std::vector<GrowthLimit>& limits, const CpuSet& shared) const;

 private:
  // What all containers of the pod have together, with what is kept of what shrinks.
  struct PodNeed {
    int count = 0;
    CpuSet kept{};
  };
  // CPUs that are to be had, as far as containers placed before have left them.
  struct Pools {
    CpuSet now{};    // free
    CpuSet freed{};  // by shrinks of the pod
    int spare = 0;   // how many of `now` may be taken before the shared pool is too small
  };
  using Order = std::vector<const CpuChange*>;

  bool scope_is(TopologyScope scope) const;
  bool is_strict() const;
  std::optional<PlacementFailure> place_shrinks();
  CpuSet freed_by(const ContainerResize& shrink) const;
  PodNeed pod_need() const;
  bool do_numbers_decide() const;

  PlacedResize run_in(const Order& order, const CpuSet& shared) const;
  std::optional<PlacementFailure> place(const CpuChange& change, const std::optional<Hint>& hint,
                                        Pools& pools, ContainerResize& placed) const;
  // The container's new set out of `pool`, or why there is none.
  std::optional<PlacementFailure> grow(const CpuChange& change, const std::optional<Hint>& hint,
                                       const CpuSet& pool, CpuSet& grown) const;
  Result<CpuSet> grow_near(const CpuChange& change, const CpuSet& usable, const Hint& hint) const;
  Alignment align(const CpuChange& change, const CpuSet& usable) const;
  Alignment align_pod(const CpuSet& usable) const;
  Alignment merge_hints(std::vector<ResourceHints> hints) const;
  // The most CPUs of `pool` that lie on so many nodes.
  int most_within(const GrowthLimit& limit, const CpuSet& pool) const;
  // `most` of the free CPUs.
  CpuSet spared(const CpuSet& free, int most) const;
  CpuSet usable(const CpuSet& pool) const;
  CpuSet near(const CpuSet& pool, const NodeSet& nodes) const;
  // Sockets and NUMA nodes it lies on, the more important one first.
  std::pair<int, int> spread(const CpuSet& cpus) const;

  const AdmissionRules& rules_;
  const ResizeTerms& terms_;
  const Bookings& bookings_;
  const Pod& wanted_;
  NumaMap machine_{};
  std::vector<CpuChange> shrinks_{};
  std::vector<CpuChange> grows_{};
  std::vector<ContainerResize> shrunk_{};
  CpuSet freed_{};  // by all of them
  std::optional<PlacementFailure> shrink_failure_{};
};

}  // namespace corehold
