// SPDX-License-Identifier: Apache-2.0
#include "config/node_configuration.h"

#include <string>

namespace corehold {

NodeConfiguration node_configuration(const Config& config) {
  NodeConfiguration node;
  for (const GateInfo& gate : gate_table()) {
    node.gates.emplace(gate.name, config.gates.is_on(gate.gate));
  }
  node.gates.insert(config.gates.others.begin(), config.gates.others.end());
  node.static_config.emplace(kCpuManagerPolicyKey, name_of(config.cpu_manager_policy));
  return node;
}

NodeConfiguration kubelet_configuration(const Config& config) {
  NodeConfiguration node = node_configuration(config);
  for (const GateInfo& gate : gate_table()) {
    if (!config.gates.is_given(gate.gate)) node.gates.erase(std::string(gate.name));
  }
  return node;
}

}  // namespace corehold
