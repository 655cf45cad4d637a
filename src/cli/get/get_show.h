// SPDX-License-Identifier: Apache-2.0
//
// corehold get: asks the agent and shows what it says, once or as it changes. One function
// a kind; each returns the exit code and has told of trouble. get_command.cc has the options.
#pragma once

#include <string>

#include "cli/client/agent_client.h"
#include "cli/client/object_query.h"
#include "cli/get/node_render.h"

namespace corehold {

enum class GetFormat { kTable, kWide, kJson, kYaml, kSvg };

struct GetRequest {
  AgentAddress agent{};
  ObjectQuery query{};
  std::string format = "table";  // as the option gives it
  bool watch = false;
};

// REQUIRES: format is one of those that the options let through.
GetFormat format_of(const GetRequest& request);
Detail detail_of(GetFormat format);

// Pods, nodes and events. REQUIRES: the query is checked.
int show_objects(const AgentClient& client, Resource resource, const GetRequest& request);
int watch_objects(const AgentClient& client, Resource resource, const GetRequest& request);

// Who holds which CPUs. REQUIRES: the query is checked; no svg is watched.
int show_cpus(const AgentClient& client, const GetRequest& request);
int watch_cpus(const AgentClient& client, const GetRequest& request);

// The agent's map of CPUs.
Result<CpuMap> fetch_map(const AgentClient& client);

}  // namespace corehold
