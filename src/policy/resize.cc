// SPDX-License-Identifier: Apache-2.0
#include "policy/resize.h"

#include <algorithm>

#include <fmt/format.h>

#include "policy/refusal_text.h"
#include "policy/resize_check.h"
#include "policy/resize_placement.h"

namespace corehold {
namespace {

constexpr std::string_view kWhereItIs = "where it has CPUs already";

// CPUs by pod, of all pods but one.
using Others = std::map<std::string, CpuSet>;

class Resize {
 public:
  Resize(const AdmissionRules& rules, const ResizeTerms& terms, const Bookings& before,
         const Pod& wanted)
      : rules_(rules), before_(before), wanted_(wanted), placement_(rules, terms, before, wanted) {}

  ResizeDecision run() {
    if (!placement_.is_needed()) return {};
    Placement now = placement_.run(before_.cpus.shared);
    if (!now.failure) {
      return {.verdict = ResizeVerdict::kAccepted, .containers = std::move(now.containers)};
    }
    Others others = others_held();
    const Placement alone = placement_.run(shared_without(others));
    if (alone.failure) return infeasible(*alone.failure);
    return deferred(*now.failure, needed(std::move(others), alone));
  }

 private:
  Others others_held() const {
    Others others;
    for (const auto& [pod, containers] : before_.cpus.pods) {
      if (pod == wanted_.uid) continue;
      CpuSet& held = others[pod];
      for (const auto& [name, holding] : containers) held |= holding.assigned;
    }
    return others;
  }

  CpuSet shared_without(const Others& gone) const {
    CpuSet shared = before_.cpus.shared;
    for (const auto& [pod, cpus] : gone) shared |= cpus;
    return shared;
  }

  bool fits_without(const Others& gone) const {
    return !placement_.run(shared_without(gone)).failure;
  }

  // Cuts both to the first few `pods` without which it fits, found by halving. Where more
  // free CPUs made it fit no more these would not be the fewest, but it would still fit.
  // REQUIRES: it fits without all, and not without none.
  void keep_fewest_that_fit(std::vector<std::string>& pods, Others& others) const {
    const auto first = [&](std::size_t count) {
      Others some;
      for (std::size_t i = 0; i < count; ++i) some.insert(*others.find(pods[i]));
      return some;
    };
    std::size_t too_few = 0;
    std::size_t enough = pods.size();
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (fits_without(first(middle)) ? enough : too_few) = middle;
    }
    others = first(enough);
    pods.resize(enough);
  }

  // Those of `others` that have to leave so that it fits: the small ones may stay first.
  // REQUIRES: it fits without all of them, as in `alone`.
  std::vector<std::string> needed(Others others, const Placement& alone) const {
    NodeSet nodes;
    for (const ContainerResize& container : alone.containers) {
      nodes |= rules_.topology.nodes_of(container.after);
    }
    const CpuSet near = rules_.topology.cpus_in(nodes);
    Others close;
    for (const auto& [pod, cpus] : others) {
      if (cpus.intersects(near)) close.emplace(pod, cpus);
    }
    if (close.size() < others.size() && fits_without(close)) others = std::move(close);
    std::vector<std::string> pods;
    for (const auto& [pod, cpus] : others) pods.push_back(pod);
    const auto larger = [&others](const std::string& one, const std::string& two) {
      return others.at(one).size() > others.at(two).size();
    };
    std::stable_sort(pods.begin(), pods.end(), larger);
    keep_fewest_that_fit(pods, others);
    for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) {
      auto kept = others.extract(*pod);
      if (!fits_without(others)) others.insert(std::move(kept));
    }
    std::erase_if(pods, [&](const std::string& pod) { return !others.contains(pod); });
    return pods;
  }

  ResizeRefusal refusal(const PlacementFailure& failure, std::string_view when) const {
    const Container* container = failure.change == nullptr ? nullptr : failure.change->container;
    ResizeRefusal refusal{.container = container == nullptr ? "" : container->name,
                          .text = failure.text};
    refusal.message = whose(wanted_, container);
    if (failure.change == nullptr) {
      refusal.message += "cannot be resized";
    } else {
      const CpuSet& has = failure.change->holding->assigned;
      refusal.message += fmt::format("cannot {} from {} CPUs ({}) to {}",
                                     failure.change->count > has.size() ? "grow" : "shrink",
                                     has.size(), has.str(), failure.change->count);
    }
    refusal.message += fmt::format("{}: {}", when, failure.text);
    if (failure.alignment) {
      refusal.message += fmt::format(
          "; {}", alignment_detail(rules_, wanted_, container, *failure.alignment, kWhereItIs));
    }
    return refusal;
  }

  ResizeDecision infeasible(const PlacementFailure& failure) const {
    const bool shrinks = failure.change != nullptr &&
                         failure.change->count < failure.change->holding->assigned.size();
    return {.verdict = ResizeVerdict::kInfeasible,
            .refusal = refusal(failure, shrinks ? "" : ", even if every other pod left")};
  }

  ResizeDecision deferred(const PlacementFailure& failure, std::vector<std::string> pods) const {
    ResizeRefusal why = refusal(failure, " now");
    why.message +=
        fmt::format("; free CPUs: {}; needs CPUs held by {}", list_or_none(failure.usable.str()),
                    cpu_holders(rules_, before_.cpus, pods));
    why.held_by = std::move(pods);
    return {.verdict = ResizeVerdict::kDeferred, .refusal = std::move(why)};
  }

  const AdmissionRules& rules_;
  const Bookings& before_;
  const Pod& wanted_;
  ResizePlacement placement_;
};

}  // namespace

std::string_view name_of(ResizeVerdict verdict) {
  switch (verdict) {
    case ResizeVerdict::kAccepted:
      return "Accepted";
    case ResizeVerdict::kDeferred:
      return "Deferred";
    case ResizeVerdict::kInfeasible:
      return "Infeasible";
  }
  check_failed("every ResizeVerdict has a name", __FILE__, __LINE__);
}

ResizeDecision decide_resize(const AdmissionRules& rules, const ResizeGates& gates,
                             const Bookings& before, const Pod& now, const Pod& wanted) {
  const auto terms = rules.policy.resize_terms();
  auto refusal = check_resize(rules, gates, terms ? &*terms : nullptr, before, now, wanted);
  if (refusal) return {.verdict = ResizeVerdict::kInfeasible, .refusal = std::move(refusal)};
  if (!terms) return {};
  return Resize(rules, *terms, before, wanted).run();
}

Plan begin_resize(const State& state, const std::string& pod_uid, const ResizeDecision& decision) {
  Plan plan;
  const auto pod = state.pods.find(pod_uid);
  if (pod == state.pods.end()) return plan;
  for (const auto& [name, holding] : pod->second) {
    if (holding.pending) plan.edits.emplace_back(SetPending{{pod_uid, name}, std::nullopt});
  }
  CpuSet taken;
  for (const ContainerResize& container : decision.containers) {
    const ContainerRef ref{pod_uid, container.container};
    if (!container.grows()) {
      plan.edits.emplace_back(SetPending{ref, container.after});
      continue;
    }
    taken |= container.from_shared;
    plan.edits.emplace_back(Reassign{ref, container.before | container.from_shared});
  }
  if (!taken.empty()) plan.edits.emplace_back(SetShared{state.shared - taken});
  return plan;
}

Plan finish_shrink(const State& state, const std::string& pod_uid, const std::string& container,
                   const ResizeDecision& decision) {
  const auto shrink = std::find_if(
      decision.containers.begin(), decision.containers.end(),
      [&](const ContainerResize& each) { return each.container == container && !each.grows(); });
  const Holding* holding = state.find({pod_uid, container});
  if (shrink == decision.containers.end() || holding == nullptr) return {};
  Plan plan{.edits = {Reassign{{pod_uid, container}, shrink->after}}, .granted = shrink->after};
  CpuSet freed = holding->assigned - shrink->after;
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, other] : containers) {
      if (&other != holding) freed -= other.assigned;
    }
  }
  for (const ContainerResize& heir : decision.containers) {
    const auto part = heir.from.find(container);
    const Holding* own = state.find({pod_uid, heir.container});
    if (part == heir.from.end() || own == nullptr) continue;
    const CpuSet given = freed & part->second;
    plan.edits.emplace_back(Reassign{{pod_uid, heir.container}, own->assigned | given});
    freed -= given;
  }
  plan.edits.emplace_back(SetShared{state.shared | freed});
  return plan;
}

}  // namespace corehold
