// SPDX-License-Identifier: Apache-2.0
#include "policy/resize/resize.h"

#include <algorithm>

#include <fmt/format.h>

#include "policy/refusal_text.h"
#include "policy/resize/resize_check.h"
#include "policy/resize/resize_holders.h"
#include "policy/resize/resize_placement.h"

namespace corehold {
namespace {

constexpr std::string_view kWhereItIs = "where it has CPUs already";

class Resize {
 public:
  Resize(const AdmissionRules& rules, const ResizeTerms& terms, const Bookings& before,
         const Pod& wanted)
      : rules_(rules),
        before_(before),
        wanted_(wanted),
        shared_(before.cpus.shared - rules.unavailable),
        placement_(rules, terms, before, wanted) {}

  ResizeDecision run() {
    if (!placement_.is_needed()) return {};
    PlacedResize now = placement_.run(shared_);
    if (!now.failure) {
      return {.verdict = ResizeVerdict::kAccepted, .containers = std::move(now.containers)};
    }
    const OtherPods others(before_.cpus, shared_, wanted_.uid);
    std::vector<std::string> pods = others.in_the_way(placement_, near());
    if (!pods.empty()) return deferred(*now.failure, std::move(pods));
    const PlacedResize alone = placement_.run(others.shared_without_all());
    CHECK(alone.failure.has_value());
    return infeasible(*alone.failure);
  }

 private:
  // CPUs of the NUMA nodes that the pod has CPUs on.
  CpuSet near() const {
    NodeSet nodes;
    for (const auto& [name, holding] : before_.cpus.pods.at(wanted_.uid)) {
      nodes |= rules_.topology.nodes_of(holding.assigned);
    }
    return rules_.topology.cpus_in(nodes);
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
                                     failure.change->asked > has.size() ? "grow" : "shrink",
                                     has.size(), has.str(), failure.change->asked);
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
  const CpuSet shared_;  // that can be given now
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
  const Holding* holding = state.find(pod_uid, container);
  if (shrink == decision.containers.end() || holding == nullptr) return {};
  Plan plan{.edits = {Reassign{{pod_uid, container}, shrink->after}}, .granted = shrink->after};
  CpuSet freed = holding->assigned - shrink->after - state.pods.held_by_several();
  for (const ContainerResize& heir : decision.containers) {
    const auto part = heir.from.find(container);
    const Holding* own = state.find(pod_uid, heir.container);
    if (part == heir.from.end() || own == nullptr) continue;
    const CpuSet given = freed & part->second;
    plan.edits.emplace_back(Reassign{{pod_uid, heir.container}, own->assigned | given});
    freed -= given;
  }
  plan.edits.emplace_back(SetShared{state.shared | freed});
  return plan;
}

}  // namespace corehold
