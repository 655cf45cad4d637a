// SPDX-License-Identifier: Apache-2.0
#include "sim/shortage.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "hints/family.h"
#include "sim/bytes_text.h"

namespace corehold {
namespace {

constexpr std::string_view kAffinityError = "TopologyAffinityError";
constexpr std::string_view kAlignmentError = "SMTAlignmentError";

// More NUMA nodes than these are not listed one by one.
constexpr std::size_t kNodesListed = 4;

std::string cpus_text(int count) { return fmt::format("{} CPU{}", count, count == 1 ? "" : "s"); }

std::string nodes_text(int count) {
  return fmt::format("{} NUMA node{}", count, count == 1 ? "" : "s");
}

class Explanation {
 public:
  Explanation(const NodeSetup& node, const Bookings& before, const Pod& pod,
              const Decision& decision)
      : node_(node), before_(before), pod_(pod), decision_(decision) {}

  PlannedRefusal run() && {
    const Refusal& refusal = *decision_.refusal;
    told_.reason = refusal.reason;
    told_.container = refusal.container;
    told_.text = refusal.text;
    told_.message = refusal.message;
    told_.fits_empty = !admit(node_.rules(), node_.empty, pod_).refusal;
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

  // Free CPUs when the decision failed: what earlier containers of the pod were given on
  // the way counts as taken, but for what init containers leave to later ones.
  CpuSet free_cpus() const {
    CpuSet free = before_.cpus.shared & node_.givable;
    for (const ContainerDecision& earlier : decision_.containers) {
      if (earlier.kind != Container::Kind::kInit) free -= earlier.granted;
    }
    return node_.full_pcpus_only ? node_.topology->whole_cores_within(free) : free;
  }

  void add_missing(const std::string& text) {
    if (!told_.missing.empty()) told_.missing += "; ";
    told_.missing += text;
  }

  void explain_topology() {
    const TopologyOptions& options = node_.topology_options;
    const bool whole_pod = decision_.alignment.has_value();
    const std::string_view what = options.policy == TopologyPolicy::kSingleNumaNode
                                      ? "everything from one NUMA node"
                                      : "no more NUMA nodes than an idle machine would need";
    told_.rule = fmt::format("topologyManagerPolicy {}: {}, for {}", name_of(options.policy), what,
                             whole_pod ? "the pod as a whole" : "each container");
    const Alignment& alignment = whole_pod ? *decision_.alignment : *failed().alignment;
    const NumaMap machine = numa_map(*node_.topology);
    bool any_alone = false;
    for (const ResourceHints& resource : alignment.hints) {
      if (!resource.family || merge(machine, {resource}, options).admit) continue;
      any_alone = true;
      if (resource.resource == kCpu) {
        explain_cpu_placement(*resource.family, whole_pod);
      } else {
        explain_placement(resource);
      }
    }
    if (any_alone) return;
    std::vector<std::string> names;
    for (const ResourceHints& resource : alignment.hints) {
      if (!resource.family) continue;
      names.push_back(resource.resource);
      add_holders(resource.resource);
    }
    add_missing(fmt::format("{} each fit, but not on the same NUMA nodes", fmt::join(names, ", ")));
  }

  // "needs 2 NUMA nodes now, 1 on an idle machine"
  std::string needs_text(const HintFamily& family) const {
    const auto hints = list_hints(family, 1);
    if (hints.empty()) return "fits nowhere now";
    const int now = hints.front().nodes ? hints.front().nodes->size() : 0;
    return fmt::format("needs {} now, {} on an idle machine", nodes_text(now),
                       family.preference.size);
  }

  void explain_cpu_placement(const HintFamily& family, bool whole_pod) {
    const int asked =
        whole_pod ? static_cast<int>(std::min<std::int64_t>(exclusive_cpus(pod_, node_.pod_gates),
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
    const bool single = node_.topology_options.policy == TopologyPolicy::kSingleNumaNode;
    add_missing(fmt::format("{} asked for, free: {}{}", cpus_text(asked), where,
                            single && most < asked ? fmt::format("; {} missing", asked - most)
                                                   : fmt::format("; cpu {}", needs_text(family))));
    add_holders(std::string(kCpu));
  }

  void explain_placement(const ResourceHints& resource) {
    std::string text = fmt::format("{} {}", resource.resource, needs_text(*resource.family));
    if (before_.devices.inventory().contains(resource.resource)) {
      fmt::format_to(std::back_inserter(text), ", {} free",
                     before_.devices.available(resource.resource).size());
    }
    add_missing(text);
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
    if (before_.memory.enabled() && failed().memory.empty() && (!memory || !memory->empty())) {
      told_.rule = "memoryManagerPolicy Static: memory of Guaranteed pods comes from NUMA nodes";
      if (memory) explain_memory(*memory);
      return;
    }
    told_.rule = "devices: each is held by one container";
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
      told_.rule = "minSharedCPUs: the shared pool is never empty";
      told_.missing += ", but too few would be left to share";
    }
    add_holders(std::string(kCpu));
  }

  void explain_memory(const NodeMemory& request) {
    for (const auto& [resource, bytes] : request) {
      std::vector<std::string> nodes;
      std::int64_t free = 0;
      for (const auto& [id, node] : before_.memory.nodes()) {
        const auto found = node.free.find(resource);
        const std::int64_t here = found == node.free.end() ? 0 : found->second;
        free += here;
        nodes.push_back(fmt::format("{} in NUMA {}", bytes_text(here), id.value));
      }
      add_missing(fmt::format("{} of {} asked for, free: {}", bytes_text(bytes), resource,
                              nodes.size() <= kNodesListed
                                  ? fmt::format("{}", fmt::join(nodes, ", "))
                                  : bytes_text(free)));
      add_holders(resource);
    }
  }

  void explain_devices(const Container& container) {
    for (const auto& [resource, amount] : container.resources.limits) {
      const bool known = before_.devices.inventory().contains(resource);
      const bool extended = resource.find('/') != std::string::npos;
      if (amount.sign() <= 0 || (!known && !extended)) continue;
      const auto free = static_cast<std::int64_t>(before_.devices.available(resource).size());
      if (!known) {
        add_missing(fmt::format("the node has no {}", resource));
      } else if (free < amount.value()) {
        add_missing(fmt::format("{} of {} asked for, {} free", amount.str(), resource, free));
        add_holders(resource);
      }
    }
  }

  void add_holders(const std::string& resource) {
    if (resource == kCpu) return add_cpu_holders();
    if (is_memory(resource)) return add_memory_holders(resource);
    for (const auto& [pod, containers] : before_.devices.pods()) {
      for (const auto& [name, holding] : containers) {
        const auto ids = holding.find(resource);
        if (ids == holding.end()) continue;
        add_holder(pod, name, resource, fmt::format("{}", fmt::join(ids->second, " ")));
      }
    }
  }

  void add_cpu_holders() {
    for (const auto& [pod, containers] : before_.cpus.pods) {
      for (const auto& [name, holding] : containers) {
        add_holder(pod, name, std::string(kCpu), holding.assigned.str());
      }
    }
  }

  void add_memory_holders(const std::string& resource) {
    for (const auto& [pod, containers] : before_.memory.pods()) {
      for (const auto& [name, holding] : containers) {
        const auto bytes = holding.bytes.find(resource);
        if (bytes == holding.bytes.end() || bytes->second == 0) continue;
        add_holder(pod, name, resource,
                   fmt::format("{} in NUMA {}", bytes_text(bytes->second), holding.nodes.str()));
      }
    }
  }

  void add_holder(const std::string& pod, const std::string& container, const std::string& resource,
                  std::string what) {
    if (what.empty()) return;
    told_.holders.push_back(
        {.pod = pod, .container = container, .resource = resource, .what = std::move(what)});
  }

  const NodeSetup& node_;
  const Bookings& before_;
  const Pod& pod_;
  const Decision& decision_;
  PlannedRefusal told_{};
};

}  // namespace

PlannedRefusal explain_refusal(const NodeSetup& node, const Bookings& before, const Pod& pod,
                               const Decision& decision) {
  return Explanation(node, before, pod, decision).run();
}

}  // namespace corehold
