// SPDX-License-Identifier: Apache-2.0
#include "state/invariants.h"

#include <fmt/format.h>

namespace corehold {
namespace {

class Checker {
 public:
  Checker(const State& state, const Rules& rules) : state_(state), rules_(rules) {}

  std::vector<Violation> run() {
    check_owners();
    check_reserved();
    check_containers();
    if (rules_.full_pcpus_only) check_cores();
    if (state_.shared.empty()) add(Invariant::kSharedPoolNotEmpty, "the shared pool is empty");
    return std::move(found_);
  }

 private:
  void add(Invariant invariant, std::string message) {
    found_.push_back({.invariant = invariant, .message = std::move(message)});
  }

  template <typename Visit>
  void each_holding(Visit visit) const {
    for (const auto& [pod, containers] : state_.pods) {
      for (const auto& [name, holding] : containers) visit(pod, name, holding);
    }
  }

  void check_owners() {
    CpuSet owned = state_.shared;
    if (rules_.strict_reservation) {
      claim(owned, rules_.reserved, "the reserved set");
    }
    for (const auto& [pod, containers] : state_.pods) {
      CpuSet of_pod;
      CpuSet lasting;
      for (const auto& [name, holding] : containers) {
        of_pod |= holding.assigned;
        if (!rules_.init_containers || rules_.init_containers->contains({pod, name})) continue;
        claim(lasting, holding.assigned, fmt::format("container {} of pod {}", name, pod));
      }
      claim(owned, of_pod, fmt::format("pod {}", pod));
    }
    const CpuSet& online = rules_.topology.cpus();
    if (!online.is_subset_of(owned)) {
      add(Invariant::kCpuOwnedOnce,
          fmt::format("CPUs {} belong to nobody", (online - owned).str()));
    }
    if (!owned.is_subset_of(online)) {
      add(Invariant::kCpuOwnedOnce,
          fmt::format("CPUs {} are not on this machine", (owned - online).str()));
    }
  }

  void claim(CpuSet& owned, const CpuSet& cpus, const std::string& owner) {
    if (owned.intersects(cpus)) {
      add(Invariant::kCpuOwnedOnce,
          fmt::format("CPUs {} of {} belong to somebody else too", (owned & cpus).str(), owner));
    }
    owned |= cpus;
  }

  void check_reserved() {
    each_holding([this](const auto& pod, const auto& name, const Holding& holding) {
      if (!holding.assigned.intersects(rules_.reserved)) return;
      add(Invariant::kReservedNotGiven,
          fmt::format("container {} of pod {} holds reserved CPUs {}", name, pod,
                      (holding.assigned & rules_.reserved).str()));
    });
  }

  void check_containers() {
    each_holding([this](const auto& pod, const auto& name, const Holding& holding) {
      if (!holding.promised.is_subset_of(holding.assigned)) {
        add(Invariant::kPromisedKept,
            fmt::format("container {} of pod {} is promised {} but has {}", name, pod,
                        holding.promised.str(), holding.assigned.str()));
      }
      if (!holding.pending) return;
      const bool proper =
          holding.pending->is_subset_of(holding.assigned) && *holding.pending != holding.assigned;
      if (!proper || !holding.promised.is_subset_of(*holding.pending)) {
        add(Invariant::kPendingBetween,
            fmt::format(
                "container {} of pod {}: pending {} is not between promised {} and assigned {}",
                name, pod, holding.pending->str(), holding.promised.str(), holding.assigned.str()));
      }
    });
  }

  void check_cores() {
    each_holding([this](const auto& pod, const auto& name, const Holding& holding) {
      const CpuSet whole = rules_.topology.whole_cores_within(holding.assigned);
      if (whole == holding.assigned) return;
      add(Invariant::kCoresWhole, fmt::format("container {} of pod {} holds {}, parts of cores",
                                              name, pod, (holding.assigned - whole).str()));
    });
  }

  const State& state_;
  const Rules& rules_;
  std::vector<Violation> found_;
};

}  // namespace

std::string_view name_of(Invariant invariant) {
  switch (invariant) {
    case Invariant::kCpuOwnedOnce:
      return "a CPU given twice or to nobody";
    case Invariant::kReservedNotGiven:
      return "a reserved CPU given";
    case Invariant::kPromisedKept:
      return "a promised CPU lost";
    case Invariant::kPendingBetween:
      return "a pending set out of bounds";
    case Invariant::kCoresWhole:
      return "a core split under full-pcpus-only";
    case Invariant::kSharedPoolNotEmpty:
      return "an empty shared pool";
  }
  check_failed("every Invariant has a name", __FILE__, __LINE__);
}

std::vector<Violation> violations(const State& state, const Rules& rules) {
  return Checker(state, rules).run();
}

}  // namespace corehold
