// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <limits>
#include <map>

#include "hints/family.h"
#include "plan/entitlement.h"
#include "plan/plan_resize.h"
#include "plan/shortage.h"
#include "policy/request.h"

namespace corehold {
namespace {

// More hints than these are not read by anybody, and there may be 2^64 of them.
constexpr std::size_t kHintsShown = 16;
constexpr std::size_t kHintsCounted = 1024;

HintsShown hints_shown(const ResourceHints& resource) {
  HintsShown shown{.resource = resource.resource, .indifferent = !resource.family};
  if (!resource.family) return shown;
  std::vector<Hint> all = list_hints(*resource.family, kHintsCounted + 1);
  shown.at_least = all.size() > kHintsCounted;
  shown.count = std::min(all.size(), kHintsCounted);
  if (!all.empty() && all.front().nodes) shown.narrowest = all.front().nodes->size();
  if (all.size() > kHintsShown) {
    std::stable_partition(all.begin(), all.end(), [](const Hint& hint) { return hint.preferred; });
    all.resize(kHintsShown);
  }
  shown.hints = std::move(all);
  return shown;
}

std::optional<AlignmentShown> shown_of(const std::optional<Alignment>& alignment) {
  if (!alignment) return std::nullopt;
  AlignmentShown shown{.merged = alignment->merged};
  for (const ResourceHints& resource : alignment->hints) {
    shown.resources.push_back(hints_shown(resource));
  }
  return shown;
}

PlannedContainer asked_by(const NodeSetup& node, const Pod& pod, const Container& container) {
  PlannedContainer planned{.name = container.name, .kind = container.kind};
  if (container.resources.requests.contains(kCpu)) {
    planned.cpu_request = container.request(kCpu).str();
  }
  if (node.policy->name() == "none") {
    planned.entitlement = "policy none gives nobody exclusive CPUs";
    return planned;
  }
  planned.entitlement = entitlement(pod, container, node.pod_gates);
  planned.cpus_asked = request_of(pod, container, std::nullopt, node.pod_gates).cpus;
  return planned;
}

void decide(const NodeSetup& node, const ContainerDecision& decided, PlannedContainer& planned) {
  planned.is_decided = !decided.alignment || decided.alignment->merged.admit;
  planned.granted = decided.granted;
  planned.promised = decided.granted;
  planned.nodes = node.topology->nodes_of(decided.granted);
  planned.fit = fit_of(*node.topology, node.givable, decided.granted);
  for (const auto& [resource, bytes] : decided.memory) {
    if (bytes > 0) planned.memory[resource] = bytes;
  }
  planned.memory_nodes = decided.memory_nodes;
  planned.devices = decided.devices;
  planned.alignment = shown_of(decided.alignment);
  planned.affinity = decided.affinity;
  planned.candidates = decided.candidates;
  planned.near = decided.near;
}

// One plan under way.
class Planner {
 public:
  explicit Planner(const NodeSetup& node)
      : node_(node), rules_(node.rules()), bookings_(node.empty) {}

  void add(const Pod& original) {
    // Holders are named by UID in messages; in a plan the name says more.
    Pod pod = original;
    pod.uid = display_name(original);
    const Decision decision = admit(rules_, bookings_, pod);
    PlannedPod planned{.index = report_.pods.size() + 1,
                       .name = pod.uid,
                       .uid = original.uid.empty() ? pod.uid : original.uid,
                       .qos = decision.qos,
                       .qos_reason = qos_reason(pod, node_.pod_gates),
                       .alignment = shown_of(decision.alignment)};
    for (const Container* container : in_starting_order(pod)) {
      planned.containers.push_back(asked_by(node_, pod, *container));
    }
    for (std::size_t i = 0; i < decision.containers.size(); ++i) {
      decide(node_, decision.containers[i], planned.containers[i]);
    }
    if (decision.refusal) {
      planned.refusal = explain_refusal(node_, bookings_, pod, decision);
      sort_holders(planned.refusal->holders);
    } else {
      finish_init_containers(pod);
      add_request(pod);
    }
    places_.emplace(planned.name, report_.pods.size());
    report_.pods.push_back(std::move(planned));
    now_.push_back(std::move(pod));
  }

  void resize(const Pod& original) {
    const auto place = places_.find(display_name(original));
    CHECK(place != places_.end());
    Pod wanted = original;
    wanted.uid = place->first;
    PlannedPod& planned = report_.pods[place->second];
    PlannedResize made =
        plan_resize(node_, {.now = now_[place->second], .wanted = wanted}, planned, bookings_);
    sort_holders(made.leave);
    if (!made.refusal) {
      const std::int64_t less = cpu_milli(now_[place->second]);
      report_.requested_milli = std::max(std::int64_t{0}, report_.requested_milli - less);
      add_request(wanted);
      now_[place->second] = std::move(wanted);
    }
    report_.resizes.push_back(std::move(made));
  }

  PlanReport finish() && {
    const Topology& topology = *node_.topology;
    report_.policy = node_.policy->name();
    report_.options = node_.options;
    report_.topology_options = node_.topology_options;
    report_.reserved = node_.reserved;
    report_.shared = report_.policy == "none" ? topology.cpus() : bookings_.cpus.shared;
    report_.free = report_.shared & node_.givable;
    if (node_.full_pcpus_only) report_.free = topology.whole_cores_within(report_.free);
    report_.free_count =
        std::clamp(report_.shared.size() - node_.min_shared, 0, report_.free.size());
    report_.allocatable_milli = std::int64_t{1000} * (topology.cpu_count() - node_.reserved.size());
    return std::move(report_);
  }

 private:
  // What does not fit 64 bits becomes the largest that does.
  void add_request(const Pod& pod) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - report_.requested_milli;
    report_.requested_milli += std::min(room, cpu_milli(pod));
  }

  // Those who came first, first.
  void sort_holders(std::vector<Holder>& holders) const {
    const auto place = [this](const Holder& holder) {
      const auto found = places_.find(holder.pod);
      return found == places_.end() ? report_.pods.size() : found->second;
    };
    std::stable_sort(holders.begin(), holders.end(),
                     [&](const Holder& a, const Holder& b) { return place(a) < place(b); });
  }

  void finish_init_containers(const Pod& pod) {
    for (const Container& container : pod.init_containers) {
      if (container.kind != Container::Kind::kInit) continue;
      apply(bookings_.cpus, node_.policy->release(bookings_.cpus, {pod.uid, container.name}));
    }
  }

  static std::int64_t cpu_milli(const Pod& pod) {
    return most_at_once(pod, [](const Container& container) {
      return std::max(std::int64_t{0}, container.request(kCpu).milli_value());
    });
  }

  const NodeSetup& node_;
  AdmissionRules rules_;
  Bookings bookings_;
  PlanReport report_{};
  std::vector<Pod> now_{};                       // the pods in the report, UIDs their names
  std::map<std::string, std::size_t> places_{};  // of the pods in the report, by name
};

}  // namespace

PlanReport plan(const NodeSetup& node, const std::vector<Pod>& pods,
                const std::vector<Pod>& resizes) {
  Planner planner(node);
  for (const Pod& pod : pods) planner.add(pod);
  for (const Pod& wanted : resizes) planner.resize(wanted);
  return std::move(planner).finish();
}

}  // namespace corehold
