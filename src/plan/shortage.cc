// SPDX-License-Identifier: Apache-2.0
#include "plan/shortage.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "hints/family.h"
#include "plan/bytes_text.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr std::string_view kAffinityError = "TopologyAffinityError";
constexpr std::string_view kAlignmentError = "SMTAlignmentError";

// More NUMA nodes than these are not listed one by one.
constexpr std::size_t kNodesListed = 4;
// And of more hints than these nobody looks for the preferred ones.
constexpr std::size_t kHintsRead = 1024;

std::string cpus_text(int count) { return fmt::format("{} CPU{}", count, count == 1 ? "" : "s"); }

std::string nodes_text(int count) {
  return fmt::format("{} NUMA node{}", count, count == 1 ? "" : "s");
}

// Makes the bookings what they were when the pod failed: with what its earlier containers were
// given on the way, which deciding again gives again.
void replay(const NodeSetup& node, const Pod& pod, const Decision& decision, Bookings& now) {
  for (std::size_t i = 0; i + 1 < decision.containers.size(); ++i) {
    const ContainerDecision& earlier = decision.containers[i];
    const Container& container = *pod.find(earlier.container);
    const auto plan = node.policy->allocate(
        now.cpus, request_of(pod, container, earlier.affinity, node.pod_gates));
    if (plan) apply(now.cpus, *plan);
    Hint hint{.nodes = earlier.affinity};
    if (decision.alignment) hint = decision.alignment->merged.hint;
    if (earlier.alignment) hint = earlier.alignment->merged.hint;
    static_cast<void>(now.memory.allocate(pod, container, hint, node.pod_gates));
    static_cast<void>(now.devices.allocate(pod, container, earlier.affinity));
  }
}

class Explanation {
 public:
  // `now`: the bookings at which the pod failed.
  Explanation(const NodeSetup& node, const Bookings& now, const Pod& pod, const Decision& decision)
      : node_(node), now_(now), pod_(pod), decision_(decision) {}

  PlannedRefusal run() && {
    const Refusal& refusal = *decision_.refusal;
    told_.reason = refusal.reason;
    told_.container = refusal.container;
    told_.text = refusal.text;
    told_.message = refusal.message;
    Bookings alone = node_.empty;
    told_.fits_empty = !admit(node_.rules(), alone, pod_).refusal;
    if (refusal.reason == kAffinityError) {
      explain_topology();
    } else if (refusal.reason == kAlignmentError) {
      explain_cores();
    } else if (!decision_.containers.empty()) {
      explain_amounts();
    }
    return std::move(told_);
  }

 private:
  const ContainerDecision& failed() const { return decision_.containers.back(); }

  // Free CPUs when the decision failed, with those that init containers left.
  CpuSet free_cpus() const {
    const CpuSet free = (now_.cpus.shared | now_.cpus.reuse.cpus) & node_.givable;
    return node_.full_pcpus_only ? node_.topology->whole_cores_within(free) : free;
  }

  void add_missing(const std::string& text) {
    if (!told_.missing.empty()) told_.missing += "; ";
    told_.missing += text;
  }

  void set_topology_rule(std::string_view what) {
    told_.rule =
        fmt::format("topologyManagerPolicy {}: {}, for {}", name_of(node_.topology_options.policy),
                    what, decision_.alignment ? "the pod as a whole" : "each container");
  }

  bool is_single() const {
    return node_.topology_options.policy == TopologyPolicy::kSingleNumaNode;
  }

  bool admits_alone(const ResourceHints& resource) const {
    return merge(numa_map(*node_.topology), {resource}, node_.topology_options).admit;
  }

  void explain_topology() {
    set_topology_rule(is_single() ? "everything from one NUMA node"
                                  : "no more NUMA nodes than an idle machine would need");
    const Alignment& alignment = decision_.alignment ? *decision_.alignment : *failed().alignment;
    if (alignment.merged.admit) return explain_outside();
    bool any_alone = false;
    for (const ResourceHints& resource : alignment.hints) {
      if (!resource.family || admits_alone(resource)) continue;
      any_alone = true;
      if (is_forced(resource)) {
        explain_forced(resource);
      } else if (resource.resource == kCpu) {
        explain_cpu_placement(*resource.family);
      } else {
        explain_placement(resource);
      }
    }
    if (!any_alone) explain_disagreement(alignment);
  }

  // The nodes were agreed upon, but not enough CPUs that can be given are there.
  void explain_outside() {
    add_missing(fmt::format("{} asked for, {} that can be given in NUMA {}",
                            cpus_text(failed().cpus_asked), failed().near.size(),
                            failed().affinity ? failed().affinity->str() : ""));
    add_holders(std::string(kCpu));
  }

  // Each would be admitted alone: what each prefers.
  void explain_disagreement(const Alignment& alignment) {
    if (!is_single()) set_topology_rule("refused unless all resources prefer the same nodes");
    std::set<int> sizes;
    for (const ResourceHints& resource : alignment.hints) {
      if (resource.family) sizes.insert(preferred_size(*resource.family));
    }
    std::vector<std::string> parts;
    for (const ResourceHints& resource : alignment.hints) {
      if (!resource.family) continue;
      const bool is_first = parts.empty();
      const int size = preferred_size(*resource.family);
      std::string what;
      if (sizes.size() > 1) {
        what = is_first ? nodes_text(size) : std::to_string(size);
      } else {
        what = preferred_text(*resource.family);
        add_holders(resource.resource);
      }
      parts.push_back(fmt::format("{}{} {}", resource.resource, is_first ? " prefers" : "", what));
    }
    add_missing(fmt::format("{}", fmt::join(parts, ", ")));
  }

  static int preferred_size(const HintFamily& family) {
    for (const Hint& hint : list_hints(family, kHintsRead)) {
      if (hint.preferred && hint.nodes) return hint.nodes->size();
    }
    return family.preference.size;
  }

  // "NUMA 0 or 2-3"
  static std::string preferred_text(const HintFamily& family) {
    std::vector<std::string> nodes;
    for (const Hint& hint : list_hints(family, kHintsRead)) {
      if (!hint.preferred || !hint.nodes) continue;
      if (nodes.size() == kNodesListed) {
        nodes.emplace_back("others");
        break;
      }
      nodes.push_back(hint.nodes->str());
    }
    return fmt::format("NUMA {}", fmt::join(nodes, " or "));
  }

  // Whether it is refused only because of nodes that must be among its own: those on which
  // init containers of the pod left something.
  bool is_forced(const ResourceHints& resource) const {
    const auto& threshold = resource.family->threshold;
    if (!threshold || threshold->required.empty()) return false;
    ResourceHints freed = resource;
    freed.family->threshold->required = {};
    return admits_alone(freed);
  }

  void explain_forced(const ResourceHints& resource) {
    const NodeSet& required = resource.family->threshold->required;
    const bool is_cpu = resource.resource == kCpu;
    add_missing(
        fmt::format("{} must be had in NUMA {}, where init containers of the pod left {}; on an "
                    "idle machine {} "
                    "would do",
                    is_cpu ? cpus_text(failed().cpus_asked) : resource.resource, required.str(),
                    is_cpu ? "CPUs " + now_.cpus.reuse.cpus.str() : "some",
                    nodes_text(resource.family->preference.size)));
  }

  // "needs 2 NUMA nodes now, 1 on an idle machine"
  static std::string needs_text(const HintFamily& family) {
    const auto hints = list_hints(family, 1);
    if (hints.empty()) return "fits nowhere now";
    const int now = hints.front().nodes ? hints.front().nodes->size() : 0;
    return fmt::format("needs {} now, {} on an idle machine", nodes_text(now),
                       family.preference.size);
  }

  void explain_cpu_placement(const HintFamily& family) {
    const int asked =
        decision_.alignment
            ? static_cast<int>(std::min<std::int64_t>(exclusive_cpus(pod_, node_.pod_gates),
                                                      std::numeric_limits<int>::max()))
            : failed().cpus_asked;
    const CpuSet free = free_cpus();
    std::vector<std::string> nodes;
    int most = 0;
    for (const auto& node : node_.topology->nodes()) {
      const int here = free.count_common(node.cpus);
      most = std::max(most, here);
      nodes.push_back(fmt::format("{} in NUMA {}", here, node.id.value));
    }
    const std::string where = nodes.size() <= kNodesListed
                                  ? fmt::format("{}", fmt::join(nodes, ", "))
                                  : fmt::format("at most {} in one NUMA node", most);
    add_missing(fmt::format("{} asked for, free: {}{}", cpus_text(asked), where,
                            is_single() && most < asked
                                ? fmt::format("; {} missing", asked - most)
                                : fmt::format("; cpu {}", needs_text(family))));
    add_holders(std::string(kCpu));
  }

  void explain_placement(const ResourceHints& resource) {
    if (!now_.devices.inventory().contains(resource.resource)) {
      add_missing(fmt::format("{} {}", resource.resource, needs_text(*resource.family)));
    } else {
      const auto amount = [&](const Container& container) {
        return std::max<std::int64_t>(0, container.limit(resource.resource).value());
      };
      const std::int64_t asked =
          decision_.alignment ? most_at_once(pod_, amount) : amount(*pod_.find(failed().container));
      if (!add_missing_devices(resource.resource, asked)) {
        add_missing(fmt::format("{}: {} asked for, {} free, but it {}", resource.resource, asked,
                                free_devices(resource.resource), needs_text(*resource.family)));
      }
    }
    add_holders(resource.resource);
  }

  void explain_cores() {
    told_.rule = "full-pcpus-only: whole cores or nothing";
    const int asked = failed().cpus_asked;
    const int threads = node_.topology->threads_per_core();
    if (node_.topology->cores_are_alike() && asked % threads != 0) {
      const int below = asked / threads * threads;
      told_.missing =
          fmt::format("{} asked for, in cores of {}; {}{} would be whole", cpus_text(asked),
                      threads, below > 0 ? fmt::format("{} or ", below) : "", below + threads);
      return;
    }
    const int free = free_cpus().size();
    told_.missing = fmt::format("{} asked for, {} free in whole cores", cpus_text(asked), free);
    if (free < asked) told_.missing += fmt::format(", {} missing", asked - free);
    add_holders(std::string(kCpu));
  }

  void explain_amounts() {
    const Container* container = pod_.find(failed().container);
    const bool cpus_placed = failed().cpus_asked == 0 || !failed().granted.empty();
    if (!cpus_placed) return explain_cpus();
    const auto memory = memory_request(pod_, *container, node_.pod_gates);
    if (now_.memory.enabled() && failed().memory.empty() && (!memory || !memory->empty())) {
      told_.rule = "memoryManagerPolicy Static: memory of Guaranteed pods comes from NUMA nodes";
      if (memory) explain_memory(*memory);
      return;
    }
    explain_devices(*container);
  }

  void explain_cpus() {
    const int asked = failed().cpus_asked;
    const int free = failed().candidates.size();
    told_.missing = fmt::format("{} asked for, {} free", cpus_text(asked), free);
    if (free < asked) {
      told_.rule = "cpuManagerPolicy static: only CPUs that nobody holds and nobody reserved";
      told_.missing += fmt::format(", {} missing", asked - free);
    } else {
      explain_shared_pool(asked);
    }
    add_holders(std::string(kCpu));
  }

  void explain_shared_pool(int asked) {
    told_.rule =
        node_.min_shared > 1
            ? fmt::format("minSharedCPUs {}: so many stay in the shared pool", node_.min_shared)
            : "minSharedCPUs: the shared pool is never empty";
    const int most = (now_.cpus.shared | now_.cpus.reuse.cpus).size() - node_.min_shared;
    told_.missing += fmt::format(", of which {} must stay shared", node_.min_shared);
    if (most < asked) told_.missing += fmt::format(", {} missing", asked - most);
  }

  // Of this resource, what init containers of the pod leave to the one that failed.
  std::int64_t memory_left(const std::string& resource) const {
    std::int64_t left = 0;
    for (const Container& container : pod_.init_containers) {
      const MemoryHolding* holding = now_.memory.find(pod_.uid, container.name);
      if (container.kind != Container::Kind::kInit || holding == nullptr) continue;
      const auto found = holding->bytes.find(resource);
      if (found != holding->bytes.end()) left += found->second;
    }
    return left;
  }

  // One resource: what is asked for, where it is free, and how much is missing.
  struct MemoryGap {
    std::string text{};
    std::int64_t missing = 0;  // 0 or less: enough is free
  };

  MemoryGap memory_gap(const std::string& resource, std::int64_t bytes) const {
    std::vector<std::string> nodes;
    const std::int64_t left = memory_left(resource);
    std::int64_t free = 0;
    for (const auto& [id, node] : now_.memory.nodes()) {
      const auto found = node.free.find(resource);
      const std::int64_t here = found == node.free.end() ? 0 : found->second;
      free += here;
      nodes.push_back(fmt::format("{} in NUMA {}", bytes_text(here), id.value));
    }
    return {.text = fmt::format(
                "{}: {} asked for, free: {}{}", resource, bytes_text(bytes),
                nodes.size() <= kNodesListed ? fmt::format("{}", fmt::join(nodes, ", "))
                                             : bytes_text(free),
                left == 0 ? "" : fmt::format(", left by init containers: {}", bytes_text(left))),
            .missing = bytes - free - left};
  }

  void explain_memory(const NodeMemory& request) {
    for (const auto& [resource, bytes] : request) {
      const MemoryGap gap = memory_gap(resource, bytes);
      if (gap.missing <= 0) continue;
      add_missing(fmt::format("{}; {} missing", gap.text, bytes_text(gap.missing)));
      add_holders(resource);
    }
    if (!told_.missing.empty()) return;
    for (const auto& [resource, bytes] : request) {
      if (bytes <= 0) continue;
      add_missing(memory_gap(resource, bytes).text);
      add_holders(resource);
    }
    add_missing("not on nodes that may serve it together");
  }

  std::int64_t free_devices(const std::string& resource) const {
    auto free = static_cast<std::int64_t>(now_.devices.available(resource).size());
    const auto own = now_.devices.pods().find(pod_.uid);
    if (own == now_.devices.pods().end()) return free;
    std::set<std::string> left;
    for (const auto& [name, holding] : own->second) {
      const auto ids = holding.find(resource);
      if (ids == holding.end()) continue;
      const bool is_left = pod_.find(name)->kind == Container::Kind::kInit;
      if (is_left) left.insert(ids->second.begin(), ids->second.end());
    }
    for (const auto& [name, holding] : own->second) {
      const auto ids = holding.find(resource);
      if (ids == holding.end() || pod_.find(name)->kind == Container::Kind::kInit) continue;
      for (const std::string& id : ids->second) left.erase(id);
    }
    return free + static_cast<std::int64_t>(left.size());
  }

  // False: enough are free.
  bool add_missing_devices(const std::string& resource, std::int64_t asked) {
    const std::int64_t free = free_devices(resource);
    if (free >= asked) return false;
    add_missing(
        fmt::format("{}: {} asked for, {} free, {} missing", resource, asked, free, asked - free));
    return true;
  }

  void explain_devices(const Container& container) {
    told_.rule = "devices: each is held by one container";
    for (const auto& [resource, amount] : container.resources.limits) {
      const bool known = now_.devices.inventory().contains(resource);
      const bool extended = resource.find('/') != std::string::npos;
      if (amount.sign() <= 0 || (!known && !extended)) continue;
      if (!known) {
        told_.rule = fmt::format(
            "devices: {} is not in the inventory; list it under devices in CoreholdConfiguration",
            resource);
        add_missing(fmt::format("{}: {} asked for, none in the inventory", resource, amount.str()));
      } else if (add_missing_devices(resource, amount.value())) {
        add_holders(resource);
      }
    }
  }

  void add_holders(const std::string& resource) {
    if (resource == kCpu) return add_cpu_holders();
    if (is_memory(resource)) return add_memory_holders(resource);
    for (const auto& [pod, containers] : now_.devices.pods()) {
      for (const auto& [name, holding] : containers) {
        const auto ids = holding.find(resource);
        if (ids == holding.end()) continue;
        add_holder(pod, name, resource, fmt::format("{}", fmt::join(ids->second, " ")));
      }
    }
  }

  void add_cpu_holders() {
    for (const auto& [pod, containers] : now_.cpus.pods) {
      for (const auto& [name, holding] : containers) {
        add_holder(pod, name, std::string(kCpu), holding.assigned.str());
      }
    }
  }

  void add_memory_holders(const std::string& resource) {
    for (const auto& [pod, containers] : now_.memory.pods()) {
      for (const auto& [name, holding] : containers) {
        const auto bytes = holding.bytes.find(resource);
        if (bytes == holding.bytes.end() || bytes->second == 0) continue;
        add_holder(pod, name, resource,
                   fmt::format("{} in NUMA {}", bytes_text(bytes->second), holding.nodes.str()));
      }
    }
  }

  // Others only if it would help that they leave; of the pod itself those who keep what they
  // have while the one that failed runs.
  void add_holder(const std::string& pod, const std::string& container, const std::string& resource,
                  std::string what) {
    if (what.empty()) return;
    const bool is_own = pod == pod_.uid;
    if (is_own ? pod_.find(container)->kind == Container::Kind::kInit : !told_.fits_empty) return;
    told_.holders.push_back(
        {.pod = pod, .container = container, .resource = resource, .what = std::move(what)});
  }

  const NodeSetup& node_;
  const Bookings& now_;
  const Pod& pod_;
  const Decision& decision_;
  PlannedRefusal told_{};
};

}  // namespace

PlannedRefusal explain_refusal(const NodeSetup& node, Bookings& bookings, const Pod& pod,
                               const Decision& decision) {
  const PodBooking before = booking_of(bookings, pod.uid);
  replay(node, pod, decision, bookings);
  PlannedRefusal told = Explanation(node, bookings, pod, decision).run();
  restore(bookings, pod.uid, before);
  return told;
}

}  // namespace corehold
