// SPDX-License-Identifier: Apache-2.0
//
// The configuration against a machine.
#include <set>
#include <vector>

#include <fmt/format.h>

#include "config/read_config.h"
#include "config/reserved_memory.h"

namespace corehold {
namespace {

class MachineCheck {
 public:
  MachineCheck(const Config& config, const Topology& topology)
      : config_(config), topology_(topology), nodes_(topology.memory_nodes()) {
    for (const auto& node : topology.nodes()) nodes_.insert(node.id);
  }

  std::vector<ConfigRemark> run() && {
    check_reserved();
    check_options();
    check_reserved_memory();
    for (const auto& [resource, devices] : config_.devices) {
      for (const Device& device : devices) {
        check_nodes(device_field(resource, device.id), device.nodes,
                    fmt::format("device {} of {}: ", device.id, resource));
      }
    }
    if (config_.memory) {
      for (const auto& [node, amounts] : *config_.memory) {
        const auto place = config_.places.memory.find(node);
        check_nodes(place == config_.places.memory.end() ? "memory" : place->second + ".numaNode",
                    NodeSet{node});
      }
    }
    return std::move(mistakes_);
  }

 private:
  void add(std::string field, std::string message) {
    mistakes_.push_back({.field = std::move(field), .message = std::move(message)});
  }

  void check_reserved() {
    const CpuSet missing = config_.reserved_cpus - topology_.cpus();
    if (!missing.empty()) {
      return add("reservedSystemCPUs",
                 fmt::format("reserved-cpus: {} is not a subset of online-cpus: {}; the machine "
                             "does not have {}",
                             config_.reserved_cpus.str(), topology_.cpus().str(), missing.str()));
    }
    if (config_.cpu_manager_policy != CpuManagerPolicy::kStatic) return;
    const int left = topology_.cpu_count() - config_.reserved_count;
    const std::string field = config_.reserved_cpus.empty() ? "kubeReserved" : "reservedSystemCPUs";
    const StaticOptions& options = config_.static_options;
    if (left < 0) {
      add(field, fmt::format("{} CPUs are to be reserved, the machine has {}",
                             config_.reserved_count, topology_.cpu_count()));
    } else if (options.strict_cpu_reservation && left < options.min_shared_cpus) {
      add(field, fmt::format("strict-cpu-reservation leaves {} CPUs to share, minSharedCPUs is {}; "
                             "{}",
                             left, options.min_shared_cpus, advice_to_share()));
    }
  }

  // Under static at least one CPU is reserved.
  std::string advice_to_share() const {
    const int least = config_.static_options.min_shared_cpus;
    const int most = topology_.cpu_count() - least;
    if (most >= 1) return fmt::format("reserve at most {} {}", most, most == 1 ? "CPU" : "CPUs");
    return fmt::format(
        "the machine is too small: it has {} {}, and at least one is reserved and {} shared; "
        "{}drop "
        "strict-cpu-reservation",
        topology_.cpu_count(), topology_.cpu_count() == 1 ? "CPU" : "CPUs", least,
        least > 1 && topology_.cpu_count() > 1 ? "lower minSharedCPUs or " : "");
  }

  // Each item on the nodes there are, and no more than they have. What the configuration
  // itself gives as memory was compared when it was read.
  void check_reserved_memory() {
    MemoryInventory reserved;
    for (const auto& [node, amounts] : config_.reserved_memory) {
      if (nodes_.contains(node)) reserved.emplace(node, amounts);
      std::set<std::string> fields;
      for (const auto& [resource, bytes] : amounts) {
        fields.insert(reserved_field(config_, node, resource, "numaNode"));
      }
      for (const std::string& field : fields) check_nodes(field, NodeSet{node});
    }
    if (config_.memory_manager_policy != MemoryManagerPolicy::kStatic || config_.memory) return;
    if (topology_.memory().empty() && !reserved.empty()) {
      return add("reservedMemory",
                 "the machine does not say what memory it has; give it as memory in "
                 "CoreholdConfiguration");
    }
    for (ConfigRemark& mistake : excess_reservations(config_, reserved, topology_.memory())) {
      mistakes_.push_back(std::move(mistake));
    }
  }

  std::string device_field(const std::string& resource, const std::string& id) const {
    const auto& places = config_.places.devices;
    const auto group = places.find(resource);
    if (group == places.end()) return "devices";
    const auto place = group->second.find(id);
    return place == group->second.end() ? "devices" : place->second + ".numaNodes";
  }

  void check_options() {
    if (config_.cpu_manager_policy == CpuManagerPolicy::kStatic) {
      const auto options =
          check_static_options(config_.static_options, topology_, config_.topology.policy);
      if (!options) add("cpuManagerPolicyOptions.align-by-socket", options.error().message);
    }
    const auto options = check_topology_options(config_.topology, topology_);
    if (!options) {
      add("topologyManagerPolicy",
          fmt::format("{}: this one has {}; raise max-allowable-numa-nodes, or set policy none",
                      options.error().message, topology_.nodes().size()));
    }
  }

  void check_nodes(std::string_view field, const NodeSet& nodes, std::string_view what = "") {
    const NodeSet missing = nodes - nodes_;
    if (missing.empty()) return;
    add(std::string(field), fmt::format("{}the machine does not have NUMA node {}, it has {}", what,
                                        missing.str(), nodes_.str()));
  }

  const Config& config_;
  const Topology& topology_;
  NodeSet nodes_;
  std::vector<ConfigRemark> mistakes_{};
};

}  // namespace

std::vector<ConfigRemark> mistakes_on(const Config& config, const Topology& topology) {
  return MachineCheck(config, topology).run();
}

Result<void> check_on(const Config& config, const Topology& topology) {
  std::string all;
  for (const ConfigRemark& mistake : mistakes_on(config, topology)) {
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", mistake.field, mistake.message);
  }
  if (all.empty()) return {};
  return Error{Code::kInvalid, std::move(all)};
}

}  // namespace corehold
