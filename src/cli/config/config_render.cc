// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config_render.h"

#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "config/duration.h"
#include "config/reserved_memory.h"
#include "features/known_features.h"

namespace corehold {
namespace {

namespace json = boost::json;

std::string policy_of(const Config& config) {
  std::string text(name_of(config.cpu_manager_policy));
  for (const std::string_view option : options_on(config.static_options)) {
    text += fmt::format(", {}", option);
  }
  return text;
}

std::string reserved_of(const Config& config) {
  const std::string count =
      fmt::format("{} {}", config.reserved_count, config.reserved_count == 1 ? "CPU" : "CPUs");
  if (!config.reserved_cpus.empty()) {
    return fmt::format("{}  {}", config.reserved_cpus.str(), count);
  }
  return config.reserved_count == 0 ? "none" : count + ", from the lowest cores";
}

std::string topology_of(const TopologyOptions& topology) {
  std::string text = fmt::format("{}, scope {}", name_of(topology.policy), name_of(topology.scope));
  if (topology.prefer_closest_numa) text += ", prefer-closest-numa-nodes";
  if (topology.max_numa_nodes != TopologyOptions{}.max_numa_nodes) {
    text += fmt::format(", up to {} NUMA nodes", topology.max_numa_nodes);
  }
  return text;
}

std::string gates_of(const FeatureGates& gates) {
  std::string text;
  for (const Gate gate : gates.changed()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", info(gate).name, gates.is_on(gate));
  }
  // Those of declared features that are not here; of others the notes say that they do nothing.
  for (const auto& [name, on] : gates.others) {
    if (!extension_registry().find(name)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, on);
  }
  return text.empty() ? "all as by default" : text;
}

std::string runtime_of(const RuntimeConfig& runtime) {
  std::string text(name_of(runtime.kind));
  if (!runtime.endpoint.empty()) text += ", " + runtime.endpoint;
  return text;
}

// "0: 2Gi; 1: 1Gi, hugepages-1Gi 1Gi"
std::string inventory_of(const MemoryInventory& memory) {
  std::string text;
  for (const auto& [node, amounts] : memory) {
    std::string inner;
    // "memory" comes after "hugepages-..." and is said first, without its name.
    for (auto amount = amounts.rbegin(); amount != amounts.rend(); ++amount) {
      if (!inner.empty()) inner += ", ";
      if (amount->first != "memory") inner += amount->first + " ";
      inner += show_bytes(amount->second);
    }
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", node.value,
                        inner.empty() ? "none" : inner);
  }
  return text.empty() ? "none" : text;
}

std::string memory_of(const Config& config) {
  std::string text(name_of(config.memory_manager_policy));
  if (!config.reserved_memory.empty()) {
    text += ", reserved by NUMA node " + inventory_of(config.reserved_memory);
  }
  if (config.memory_pinning) text += ", pinned";
  return text;
}

std::string listen_of(const ListenConfig& listen) {
  std::string text = listen.address.empty() ? "Unix socket only" : listen.address;
  if (!listen.socket_group.empty()) text += ", socket for group " + listen.socket_group;
  return text;
}

std::string devices_of(const DeviceInventory& devices) {
  std::string text;
  for (const auto& [resource, list] : devices) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", list.size(), resource);
  }
  return text;
}

std::string shared_of(const StaticOptions& options) {
  return fmt::format("at least {} {}", options.min_shared_cpus,
                     options.min_shared_cpus == 1 ? "CPU" : "CPUs");
}

json::array remarks_json(const std::vector<ConfigRemark>& remarks) {
  json::array list;
  for (const ConfigRemark& remark : remarks) {
    list.push_back({{"line", remark.line}, {"field", remark.field}, {"message", remark.message}});
  }
  return list;
}

json::object memory_json(const MemoryInventory& memory) {
  json::object nodes;
  for (const auto& [node, amounts] : memory) {
    json::object bytes;
    for (const auto& [resource, amount] : amounts) bytes[resource] = amount;
    nodes[fmt::to_string(node.value)] = std::move(bytes);
  }
  return nodes;
}

json::object gates_json(const FeatureGates& gates) {
  json::object object;
  for (const GateInfo& gate : gate_table()) object[gate.name] = gates.is_on(gate.gate);
  return object;
}

json::object settings_json(const Config& config) {
  json::array options;
  for (const std::string_view option : options_on(config.static_options)) {
    options.emplace_back(option);
  }
  json::object settings{
      {"cpuManagerPolicy", name_of(config.cpu_manager_policy)},
      {"cpuManagerPolicyOptions", std::move(options)},
      {"scaleDelay", show_duration(config.static_options.scale_delay)},
      {"minSharedCPUs", config.static_options.min_shared_cpus},
      {"reservedSystemCPUs", config.reserved_cpus.str()},
      {"reservedCount", config.reserved_count},
      {"topologyManagerPolicy", name_of(config.topology.policy)},
      {"topologyManagerScope", name_of(config.topology.scope)},
      {"preferClosestNumaNodes", config.topology.prefer_closest_numa},
      {"maxAllowableNumaNodes", config.topology.max_numa_nodes},
      {"memoryManagerPolicy", name_of(config.memory_manager_policy)},
      {"reservedMemory", memory_json(config.reserved_memory)},
      {"memoryPinning", config.memory_pinning},
      {"cpuManagerReconcilePeriod", show_duration(config.reconcile_period)},
      {"nodeStatusUpdateFrequency", show_duration(config.node_status_update_frequency)},
      {"syncFrequency", show_duration(config.sync_frequency)},
      {"staticPodPath", config.static_pod_path},
      {"runtime", name_of(config.runtime.kind)},
      {"endpoint", config.runtime.endpoint},
      {"listenAddress", config.listen.address},
      {"socketGroup", config.listen.socket_group},
      {"root", config.paths.root},
      {"checkpointFormat", name_of(config.checkpoint_format)},
      {"featureGates", gates_json(config.gates)}};
  json::object devices;
  for (const auto& [resource, list] : config.devices) devices[resource] = list.size();
  settings["devices"] = std::move(devices);
  if (config.memory) settings["memory"] = memory_json(*config.memory);
  return settings;
}

}  // namespace

std::string render_remark(const std::string& file, const ConfigRemark& remark) {
  std::string text = file;
  if (remark.line > 0) text += fmt::format(":{}", remark.line);
  if (!remark.field.empty()) text += ": " + remark.field;
  return on_one_line(text + ": " + remark.message);
}

std::string render_config_table(const std::string& file, const CheckedConfig& checked) {
  const Config& config = checked.config;
  using Row = std::pair<std::string_view, std::string>;
  std::vector<Row> rows{{"policy", policy_of(config)}, {"reserved", reserved_of(config)}};
  const auto is_given = [&checked](const char* field) { return checked.lines.contains(field); };
  if (is_given("minSharedCPUs")) rows.emplace_back("shared", shared_of(config.static_options));
  rows.emplace_back("delay", show_duration(config.static_options.scale_delay));
  rows.emplace_back("topology", topology_of(config.topology));
  rows.emplace_back("memory", memory_of(config));
  if (config.memory) rows.emplace_back("machine", "by NUMA node " + inventory_of(*config.memory));
  if (!config.devices.empty()) rows.emplace_back("devices", devices_of(config.devices));
  rows.emplace_back("gates", gates_of(config.gates));
  rows.emplace_back("reconcile", "every " + show_duration(config.reconcile_period));
  rows.emplace_back("runtime", runtime_of(config.runtime));
  if (is_given("listen")) rows.emplace_back("listen", listen_of(config.listen));
  rows.emplace_back("root", config.paths.root);
  std::string text;
  for (const auto& [name, value] : rows) {
    text += fmt::format("{:<9}  {}\n", name, on_one_line(value));
  }
  if (!checked.warnings.empty() || !checked.notes.empty()) text += "\n";
  for (ConfigRemark warning : checked.warnings) {
    warning.message.insert(0, "warning: ");
    text += render_remark(file, warning) + "\n";
  }
  for (const ConfigRemark& note : checked.notes) text += render_remark(file, note) + "\n";
  return text;
}

std::string render_config_json(const std::string& file, const CheckedConfig& checked) {
  json::object root{{"file", on_one_line(file)},
                    {"valid", checked.mistakes.empty()},
                    {"mistakes", remarks_json(checked.mistakes)},
                    {"warnings", remarks_json(checked.warnings)},
                    {"notes", remarks_json(checked.notes)}};
  if (checked.mistakes.empty()) root["settings"] = settings_json(checked.config);
  return json::serialize(root) + "\n";
}

}  // namespace corehold
