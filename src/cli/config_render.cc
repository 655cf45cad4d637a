// SPDX-License-Identifier: Apache-2.0
#include "cli/config_render.h"

#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "config/duration.h"

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
  return text.empty() ? "all as by default" : text;
}

std::string runtime_of(const RuntimeConfig& runtime) {
  std::string text(name_of(runtime.kind));
  if (!runtime.endpoint.empty()) text += ", " + runtime.endpoint;
  return text;
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
  const std::vector<std::pair<std::string_view, std::string>> rows{
      {"policy", policy_of(config)},
      {"reserved", reserved_of(config)},
      {"delay", show_duration(config.static_options.scale_delay)},
      {"topology", topology_of(config.topology)},
      {"memory", std::string(name_of(config.memory_manager_policy))},
      {"gates", gates_of(config.gates)},
      {"reconcile", "every " + show_duration(config.reconcile_period)},
      {"runtime", runtime_of(config.runtime)},
      {"root", config.paths.root}};
  std::string text;
  for (const auto& [name, value] : rows) {
    text += fmt::format("{:<9}  {}\n", name, on_one_line(value));
  }
  if (!checked.notes.empty()) text += "\n";
  for (const ConfigRemark& note : checked.notes) text += render_remark(file, note) + "\n";
  return text;
}

std::string render_config_json(const std::string& file, const CheckedConfig& checked) {
  json::object root{{"file", on_one_line(file)},
                    {"valid", checked.mistakes.empty()},
                    {"mistakes", remarks_json(checked.mistakes)},
                    {"notes", remarks_json(checked.notes)}};
  if (checked.mistakes.empty()) root["settings"] = settings_json(checked.config);
  return json::serialize(root) + "\n";
}

}  // namespace corehold
