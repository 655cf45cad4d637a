// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_resize.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/entitlement.h"
#include "policy/request.h"

namespace corehold {
namespace {

std::string cpu_text(const Container& container) {
  const auto found = container.resources.requests.find(kCpu);
  return found == container.resources.requests.end() ? "" : found->second.str();
}

const ContainerResize* find(const ResizeDecision& decision, const std::string& container) {
  const auto found =
      std::find_if(decision.containers.begin(), decision.containers.end(),
                   [&](const ContainerResize& changed) { return changed.container == container; });
  return found == decision.containers.end() ? nullptr : &*found;
}

// What all containers of these pods hold.
std::vector<Holder> holders_in(const State& state, const std::vector<std::string>& pods) {
  std::vector<Holder> holders;
  for (const std::string& pod : pods) {
    const auto found = state.pods.find(pod);
    if (found == state.pods.end()) continue;
    for (const auto& [container, holding] : found->second) {
      holders.push_back({.pod = pod,
                         .container = container,
                         .resource = std::string(kCpu),
                         .what = holding.assigned.str()});
    }
  }
  return holders;
}

class ResizePlan {
 public:
  ResizePlan(const NodeSetup& node, const ResizeAsked& asked, PlannedPod& planned,
             Bookings& bookings)
      : node_(node), asked_(asked), planned_(planned), bookings_(bookings) {}

  PlannedResize run() {
    ResizeDecision decision = decide();
    PlannedResize made{.pod = planned_.name, .verdict = decision.verdict};
    for (const Container* container : in_starting_order(asked_.wanted)) {
      add_container(*container, decision, made);
    }
    if (decision.verdict == ResizeVerdict::kAccepted) {
      apply_all(decision);
    } else {
      made.leave = holders_in(bookings_.cpus, decision.refusal->held_by);
    }
    made.refusal = std::move(decision.refusal);
    return made;
  }

 private:
  ResizeDecision decide() const {
    if (planned_.refusal) {
      return {.verdict = ResizeVerdict::kInfeasible,
              .refusal =
                  ResizeRefusal{.message = fmt::format("pod {} is not admitted: {}", planned_.name,
                                                       planned_.refusal->reason)}};
    }
    const ResizeGates gates{
        .in_place = node_.gates.is_on(Gate::kInPlacePodVerticalScaling),
        .exclusive_cpus = node_.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus)};
    return decide_resize(node_.rules(), gates, bookings_, asked_.now, asked_.wanted);
  }

  void add_container(const Container& wanted, const ResizeDecision& decision,
                     PlannedResize& made) const {
    const Container* now = asked_.now.find(wanted.name);
    CHECK(now != nullptr);
    const ContainerResize* changed = find(decision, wanted.name);
    if (changed == nullptr && now->resources == wanted.resources) return;
    ResizedContainer resized{.name = wanted.name,
                             .kind = wanted.kind,
                             .cpu_before = cpu_text(*now),
                             .cpu_after = cpu_text(wanted)};
    if (const Holding* holding = bookings_.cpus.find(asked_.now.uid, wanted.name)) {
      resized.promised = holding->promised;
      resized.before = holding->assigned;
    }
    resized.after = changed == nullptr ? resized.before : changed->after;
    resized.fit = fit_of(*node_.topology, node_.givable, resized.after);
    if (changed != nullptr) resized.waits_for = changed->from;
    made.containers.push_back(std::move(resized));
  }

  void apply_all(const ResizeDecision& decision) {
    const std::string& uid = asked_.now.uid;
    apply(bookings_.cpus, begin_resize(bookings_.cpus, uid, decision));
    for (const ContainerResize& changed : decision.containers) {
      if (changed.grows()) continue;
      apply(bookings_.cpus, finish_shrink(bookings_.cpus, uid, changed.container, decision));
    }
    for (PlannedContainer& container : planned_.containers) show_applied(container);
  }

  void show_applied(PlannedContainer& container) const {
    const Container* wanted = asked_.wanted.find(container.name);
    CHECK(wanted != nullptr);
    container.cpu_request = cpu_text(*wanted);
    if (node_.policy->name() != "none") {
      container.entitlement = entitlement(asked_.wanted, *wanted, node_.pod_gates);
      container.cpus_asked = request_of(asked_.wanted, *wanted, std::nullopt, node_.pod_gates).cpus;
    }
    // Init containers are done: what they had stays told.
    const Holding* holding = bookings_.cpus.find(asked_.now.uid, container.name);
    if (holding == nullptr) return;
    container.granted = holding->assigned;
    container.nodes = node_.topology->nodes_of(holding->assigned);
    container.fit = fit_of(*node_.topology, node_.givable, holding->assigned);
  }

  const NodeSetup& node_;
  const ResizeAsked& asked_;
  PlannedPod& planned_;
  Bookings& bookings_;
};

}  // namespace

PlannedResize plan_resize(const NodeSetup& node, const ResizeAsked& asked, PlannedPod& planned,
                          Bookings& bookings) {
  return ResizePlan(node, asked, planned, bookings).run();
}

}  // namespace corehold
