// SPDX-License-Identifier: Apache-2.0
//
// What does not change while an agent runs and is shown to clients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/node/node_object.h"
#include "features/own_features.h"
#include "isolation/level.h"
#include "manager/time.h"
#include "node/node_setup.h"
#include "runtime/runtime.h"

namespace corehold {

struct NodeFacts {
  const NodeSetup& setup;
  std::string name{};          // of the node
  std::string version{};       // of Corehold
  std::string kernel{};        // "6.1.0-18-amd64"
  std::string architecture{};  // "amd64"
  std::string os_image{};      // "Debian GNU/Linux 12 (bookworm)"
  std::string machine_id{};
  std::string boot_id{};
  std::int64_t memory = 0;  // bytes; 0: not known
  WallTime started_at{};    // this agent
  Capabilities capabilities{};
  std::optional<OwnFeatures> features{};           // that it declares; no value: their gate is off
  std::optional<IsolationLevel> isolation{};       // no value: a machine that is not there
  std::optional<NodeView::Exclusive> exclusive{};  // the same; follows the fence
};

// The machine's part: name, kernel, architecture, memory.
NodeFacts facts_of(const NodeSetup& setup, std::string version);

// The memory of all NUMA nodes, huge pages aside, as the topology says; 0: it does not.
std::int64_t memory_of(const Topology& topology);

}  // namespace corehold
