// SPDX-License-Identifier: Apache-2.0
#include "policy/admission.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/code.h"
#include "policy/refusal_text.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr std::string_view kAffinityError = "TopologyAffinityError";
constexpr std::string_view kMisaligned = "Resources cannot be allocated with Topology locality";

// What CPU hints are made of: all free CPUs, as in the kubelet, or those that can be given.
enum class HintBasis { kFree, kUsable };

// CPUs that are not in the shared set as long as this lives, for deciding without them. What
// becomes of the other shared CPUs meanwhile stays.
class Withheld {
 public:
  Withheld(State& state, const CpuSet& cpus) : state_(state), cpus_(state.shared & cpus) {
    if (!cpus_.empty()) state_.shared -= cpus_;
  }
  ~Withheld() {
    if (!cpus_.empty()) state_.shared |= cpus_;
  }
  Withheld(const Withheld&) = delete;
  Withheld& operator=(const Withheld&) = delete;

 private:
  State& state_;
  const CpuSet cpus_;
};

// One admission under way. The bookings change as it goes on.
class Admission {
 public:
  Admission(const AdmissionRules& rules, Bookings& bookings, const Pod& pod, HintBasis basis)
      : rules_(rules), pod_(pod), basis_(basis), now_(bookings) {
    if (rules.topology_options.policy != TopologyPolicy::kNone) machine_ = numa_map(rules.topology);
    decision_.qos = qos_class(pod, rules.pod_gates);
  }

  // Where it is refused the bookings are left as they are then.
  Decision run() {
    const Withheld offline(now_.cpus, rules_.unavailable);
    if (decide()) settle();
    return std::move(decision_);
  }

  // Whether it was refused because CPUs near the affinity could not be given after all.
  bool left_affinity() const { return left_affinity_; }

 private:
  // False: refused, and the decision says why.
  bool decide() {
    const auto containers = in_starting_order(pod_);
    Hint hint;
    if (scope_is(TopologyScope::kPod)) {
      std::vector<Request> requests;
      requests.reserve(containers.size());
      for (const Container* container : containers) requests.push_back(request_for(*container, {}));
      decision_.alignment = align(pod_hints(requests));
      hint = decision_.alignment->merged.hint;
      if (!decision_.alignment->merged.admit) {
        return refuse_alignment(nullptr, *decision_.alignment);
      }
    }
    return std::all_of(containers.begin(), containers.end(),
                       [&](const Container* container) { return place(*container, hint); });
  }

  bool scope_is(TopologyScope scope) const {
    return rules_.topology_options.policy != TopologyPolicy::kNone &&
           rules_.topology_options.scope == scope;
  }

  Request request_for(const Container& container, const std::optional<NodeSet>& affinity) const {
    return request_of(pod_, container, affinity, rules_.pod_gates);
  }

  bool place(const Container& container, Hint hint) {
    ContainerDecision& decided = decision_.containers.emplace_back();
    decided.container = container.name;
    decided.kind = container.kind;
    Request request = request_for(container, {});
    decided.cpus_asked = request.cpus;
    if (scope_is(TopologyScope::kContainer)) {
      decided.alignment = align(hints(container, request));
      if (!decided.alignment->merged.admit) {
        return refuse_alignment(&container, *decided.alignment);
      }
      hint = decided.alignment->merged.hint;
    }
    decided.affinity = hint.nodes;
    request.affinity = hint.nodes;
    return place_cpus(container, request, decided) && place_memory(container, hint, decided) &&
           place_devices(container, decided);
  }

  Alignment align(std::vector<ResourceHints> hints) const {
    Alignment alignment{.hints = std::move(hints), .merged = {}};
    alignment.merged = merge(machine_, alignment.hints, rules_.topology_options);
    return alignment;
  }

  std::vector<ResourceHints> hints(const Container& container, const Request& request) {
    std::vector<ResourceHints> all;
    if (request.cpus > 0) {
      const Withheld unusable(now_.cpus, unusable_for(request));
      all.push_back(
          {.resource = std::string(kCpu), .family = rules_.policy.hints(now_.cpus, request)});
    }
    append(all, now_.memory.hints(pod_, container, rules_.pod_gates));
    append(all, now_.devices.hints(machine_.nodes, pod_, container));
    return all;
  }

  std::vector<ResourceHints> pod_hints(const std::vector<Request>& requests) {
    std::vector<ResourceHints> all;
    if (exclusive_cpus(pod_, rules_.pod_gates) > 0) {
      const Withheld unusable(now_.cpus, unusable_for(requests.front()));
      all.push_back(
          {.resource = std::string(kCpu), .family = rules_.policy.pod_hints(now_.cpus, requests)});
    }
    append(all, now_.memory.pod_hints(pod_, rules_.pod_gates));
    append(all, now_.devices.pod_hints(machine_.nodes, pod_));
    return all;
  }

  // Shared CPUs that hints are not to count.
  CpuSet unusable_for(const Request& request) const {
    if (basis_ == HintBasis::kFree) return {};
    const Request any{.container = {.pod = request.container.pod, .container = ""},
                      .cpus = 1,
                      .lasting = request.lasting};
    return now_.cpus.shared - rules_.policy.candidates(now_.cpus, any);
  }

  static void append(std::vector<ResourceHints>& to, std::vector<ResourceHints> from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  }

  bool place_cpus(const Container& container, const Request& request, ContainerDecision& decided) {
    decided.candidates = rules_.policy.candidates(now_.cpus, request_for(container, {}));
    if (request.affinity) decided.near = rules_.policy.candidates(now_.cpus, request);
    decided.had_cpus = now_.cpus.find(request.container) != nullptr;
    const auto plan = rules_.policy.allocate(now_.cpus, request);
    if (!plan) {
      return refuse(&container, admission_reason(plan.error().code), plan.error().message,
                    cpu_detail(rules_, now_, decided.candidates));
    }
    if (!decided.had_cpus && request.affinity && is_strict()) {
      const CpuSet outside = plan->granted - decided.near;
      if (!outside.empty()) return refuse_outside(container, *request.affinity, outside);
    }
    apply(now_.cpus, *plan);
    decided.granted = plan->granted;
    return true;
  }

  // Whether CPUs outside the affinity are a reason to refuse.
  bool is_strict() const {
    return rules_.topology_options.policy == TopologyPolicy::kRestricted ||
           rules_.topology_options.policy == TopologyPolicy::kSingleNumaNode;
  }

  bool place_memory(const Container& container, const Hint& hint, ContainerDecision& decided) {
    const auto holding = now_.memory.allocate(pod_, container, hint, rules_.pod_gates);
    if (!holding) {
      const auto request = memory_request(pod_, container, rules_.pod_gates);
      return refuse_unexpected(container, holding.error(),
                               request ? memory_detail(rules_, now_, *request) : "");
    }
    decided.memory = holding->bytes;
    decided.memory_nodes = holding->nodes;
    return true;
  }

  bool place_devices(const Container& container, ContainerDecision& decided) {
    auto holding = now_.devices.allocate(pod_, container, decided.affinity);
    if (!holding) {
      return refuse_unexpected(container, holding.error(), device_detail(rules_, now_, container));
    }
    decided.devices = *std::move(holding);
    return true;
  }

  bool refuse(const Container* container, std::string_view reason, std::string_view text,
              std::string_view detail) {
    decision_.refusal = Refusal{.reason = std::string(reason),
                                .container = container == nullptr ? "" : container->name,
                                .text = std::string(text),
                                .message = fmt::format("{}{}{}{}", whose(pod_, container), text,
                                                       detail.empty() ? "" : "; ", detail)};
    return false;
  }

  bool refuse_unexpected(const Container& container, const Error& error, std::string_view detail) {
    return refuse(&container, admission_reason(Code::kConflict),
                  fmt::format("Allocate failed due to {}, which is unexpected", error.message),
                  detail);
  }

  bool refuse_alignment(const Container* container, const Alignment& alignment) {
    return refuse(container, kAffinityError, kMisaligned,
                  topology_detail(rules_, now_, pod_, container, alignment));
  }

  // Hints count CPUs. That they make whole cores, and that enough are left to share, shows
  // only when they are chosen.
  bool refuse_outside(const Container& container, const NodeSet& affinity, const CpuSet& outside) {
    left_affinity_ = true;
    return refuse(
        &container, kAffinityError, kMisaligned,
        fmt::format("policy {}; on NUMA node {} it would have to be given CPUs {} of "
                    "other nodes as well; {}",
                    name_of(rules_.topology_options.policy), affinity.str(), outside.str(),
                    cpu_detail(rules_, now_, decision_.containers.back().candidates)));
  }

  // Nothing is left to later containers, there are none.
  void settle() {
    apply(now_.cpus, SetReuse{});
    now_.memory.settle();
    now_.devices.settle();
  }

  const AdmissionRules& rules_;
  const Pod& pod_;
  HintBasis basis_;
  bool left_affinity_ = false;
  NumaMap machine_{};
  Bookings& now_;
  Decision decision_{};
};

}  // namespace

Decision admit(const AdmissionRules& rules, Bookings& bookings, const Pod& pod) {
  const PodBooking before = booking_of(bookings, pod.uid);
  if (holds_anything(bookings, pod.uid)) {
    AdmissionRules unaligned = rules;
    unaligned.topology_options.policy = TopologyPolicy::kNone;
    Decision kept = Admission(unaligned, bookings, pod, HintBasis::kFree).run();
    if (!kept.refusal && booking_of(bookings, pod.uid) == before) return kept;
    restore(bookings, pod.uid, before);
  }
  Admission first(rules, bookings, pod, HintBasis::kFree);
  Decision decision = first.run();
  if (first.left_affinity()) {
    restore(bookings, pod.uid, before);
    decision = Admission(rules, bookings, pod, HintBasis::kUsable).run();
  }
  if (decision.refusal) restore(bookings, pod.uid, before);
  return decision;
}

void release(const AdmissionRules& rules, Bookings& bookings, const std::string& pod_uid) {
  State& cpus = bookings.cpus;
  const auto containers = cpus.pods.find(pod_uid);
  if (containers != cpus.pods.end()) {
    std::vector<ContainerRef> refs;
    for (const auto& [name, holding] : containers->second) refs.push_back({pod_uid, name});
    for (const ContainerRef& ref : refs) apply(cpus, rules.policy.release(cpus, ref));
  }
  if (cpus.reuse.pod == pod_uid) apply(cpus, SetReuse{});
  bookings.memory.release(pod_uid);
  bookings.devices.release(pod_uid);
}

}  // namespace corehold
