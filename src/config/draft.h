// SPDX-License-Identifier: Apache-2.0
//
// Draft: what the documents say, one field at a time, before the fields are put together.
// The tables of fields (kubelet_fields.cc, corehold_fields.cc) fill it; rules.cc makes
// the Config of it and reports what does not go together.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "config/config.h"
#include "config/reading.h"
#include "pod/quantity.h"

namespace corehold {

struct Reservation {
  Quantity cpu{};
  std::int64_t memory = 0;  // bytes
};

// What evictionHard says of memory.available.
struct Eviction {
  bool is_given = false;       // evictionHard is there, and so replaces the kubelet's defaults
  bool keeps_default = false;  // mergeDefaultEvictionSettings
  bool is_share = false;       // a percentage of the machine's memory, which is not known here
  std::optional<std::int64_t> bytes{};
};

struct Draft {
  Config config{};
  std::map<std::string, std::string> cpu_options{};
  std::map<std::string, std::string> topology_options{};
  std::chrono::milliseconds reconcile_period{0};  // 0: not given
  Reservation kube_reserved{};
  Reservation system_reserved{};
  Eviction eviction{};
};

// Each reads a document of its kind; `apiVersion` and `kind` are checked already.
void read_kubelet_fields(const Node& document, Draft& draft, Reading& reading);
void read_corehold_fields(const Node& document, Draft& draft, Reading& reading);

// {memory: 1Gi, hugepages-1Gi: 2Gi}
void read_node_memory(const Node& node, NodeMemory& into, Reading& reading);
// Whether the size in hugepages-<size> is one; also true of "memory". REQUIRES: is_memory(name).
bool has_page_size(std::string_view name);
void read_eviction(const Node& node, Eviction& into, Reading& reading);

// What depends on several fields: fills in what follows, and reports contradictions.
void apply_rules(Draft& draft, Reading& reading);
// The part of it that is about memory.
void check_memory(const Draft& draft, Reading& reading);

}  // namespace corehold
