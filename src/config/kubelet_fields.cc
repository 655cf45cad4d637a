// SPDX-License-Identifier: Apache-2.0
//
// The fields of KubeletConfiguration that Corehold honours.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "config/draft.h"
#include "config/field.h"
#include "config/list_fields.h"
#include "config/words.h"
#include "features/known_features.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

// A kubelet takes an empty word for one that is not given.
template <std::size_t Count, typename Enum>
void read_word(const Node& node, Enum& into, Reading& reading) {
  if (!node.is_empty_text()) read_choice<Count>(node, into, reading);
}

// The names are those of hints/topology_options.h; its messages say which there are.
void read_topology_policy(const Node& node, TopologyPolicy& into, Reading& reading) {
  const auto text = text_of(node, reading);
  if (!text || text->empty()) return;
  const auto policy = parse_topology_policy(clipped(*text));
  if (!policy) return reading.mistake(node, policy.error().message);
  into = *policy;
}

void read_topology_scope(const Node& node, TopologyScope& into, Reading& reading) {
  const auto text = text_of(node, reading);
  if (!text || text->empty()) return;
  const auto scope = parse_topology_scope(clipped(*text));
  if (!scope) return reading.mistake(node, scope.error().message);
  into = *scope;
}

// A value that should have been a string as the string it was meant to be.
std::optional<std::string> meant_text(const boost::json::value& value) {
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_int64()) return fmt::to_string(value.get_int64());
  return std::nullopt;
}

// Names and values as strings; what they mean is for the rules, which know the gates. A
// value of the wrong type is a mistake and does not keep the rules from finding others.
void read_options(const Node& node, std::map<std::string, std::string>& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  for (const auto& [name, member] : node.members()) {
    reading.given(member);
    auto text = text_of(member, reading);
    if (!text) text = meant_text(member.value());
    if (text) into.emplace(name, clipped(*text));
  }
}

void read_gates(const Node& node, FeatureGates& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  std::vector<std::string_view> known;
  for (const GateInfo& row : gate_table()) known.push_back(row.name);
  for (const auto& [name, member] : node.members()) {
    reading.given(member);
    bool on = false;
    if (!member.value().is_bool()) {
      reading.mistake(member, "must be true or false, without quotes");
      continue;
    }
    read_value(member, on, reading);
    const GateInfo* gate = find_gate(name);
    if (gate == nullptr) {
      into.others[name] = on;
      const bool is_feature = extension_registry().find(name).has_value();
      if (is_feature && on) reading.note(member, "this node does not have it, it is not declared");
      if (!is_feature)
        reading.note(member, "feature gate without effect here" + did_you_mean(name, known));
    } else if (gate->gate == Gate::kCpuManager && !on) {
      reading.mistake(member,
                      "cannot set feature gate CPUManager to false, feature is locked to true; "
                      "to leave CPUs alone, set cpuManagerPolicy: none");
    } else {
      into.set(gate->gate, on);
    }
  }
}

// One amount of kubeReserved or systemReserved, with the kubelet's texts.
void read_reserved(const std::string& name, const Node& node, Reservation& into, Reading& reading) {
  constexpr std::array<std::string_view, 4> kNames{"cpu", "memory", "ephemeral-storage", "pid"};
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    return reading.mistake(node, fmt::format("cannot reserve {:?} resource; there are {}", name,
                                             fmt::join(kNames, ", ")));
  }
  const auto text = text_of(node, reading);
  if (!text) return;
  const auto quantity = Quantity::parse(*text);
  if (!quantity) {
    return reading.mistake(node, fmt::format("failed to parse quantity {:?} for {:?} resource: {}",
                                             clipped(*text), name, quantity.error().message));
  }
  if (quantity->sign() < 0) {
    return reading.mistake(node, fmt::format("resource quantity for {:?} cannot be negative: {}",
                                             name, clipped(*text)));
  }
  if (name == "cpu") into.cpu = *quantity;
  if (name != "memory") return;
  const auto bytes = quantity->scaled(0);
  if (!bytes) return reading.mistake(node, "is more than 64 bits hold");
  into.memory = *bytes;
}

void read_reservation(const Node& node, Reservation& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  for (const auto& [name, member] : node.members()) {
    if (member.is_absent()) continue;
    reading.given(member);
    read_reserved(name, member, into, reading);
  }
}

// One item of reservedMemory, as it is read.
struct ReservedMemory {
  int node = -1;
  NodeMemory limits{};
};

constexpr std::array kReservedMemoryFields{
    plain_field<ReservedMemory>(
        {.name = "numaNode",
         .type = "number",
         .meaning = "the NUMA node",
         .default_text = "required"},
        [](auto& memory) -> auto& { return memory.node; },
        [](const Node& node, int& into, Reading& reading) { read_numa_node(node, into, reading); }),
    free_field<ReservedMemory>({.name = "limits",
                                .type = "amounts",
                                .meaning = "bytes by `memory` and `hugepages-<size>`",
                                .default_text = "required"},
                               [](const Node& node, ReservedMemory& into, Reading& reading) {
                                 read_node_memory(node, into.limits, reading);
                               }),
};

void read_reserved_memory(const Node& node, Draft& draft, Reading& reading) {
  if (!expect_list(node, reading)) return;
  for (const Node& item : node.items()) {
    ReservedMemory reserved;
    const std::size_t before = reading.mistake_count();
    read_fields<ReservedMemory>(item, kReservedMemoryFields, UnknownField::kMistake, reserved,
                                reading);
    if (!item.value().is_object()) continue;
    const bool is_right = reading.mistake_count() == before;
    if (reserved.node < 0) {
      if (is_right) reading.mistake(item, "numaNode is missing");
      continue;
    }
    if (reserved.limits.empty() && is_right) {
      reading.mistake(item, "limits are missing, as in {memory: 1Gi}");
    }
    for (const auto& [resource, bytes] : reserved.limits) {
      const bool is_new =
          draft.config.reserved_memory[NodeId(reserved.node)].emplace(resource, bytes).second;
      if (is_new) {
        draft.config.places.reserved_memory[NodeId(reserved.node)][resource] = item.path();
        continue;
      }
      reading.mistake(item, fmt::format("the reserved memory has a duplicate value for NUMA node "
                                        "{} and resource {:?}",
                                        reserved.node, resource));
    }
  }
}

constexpr std::array kKubeletFields{
    document_field<Draft>({.name = "apiVersion",
                           .type = "string",
                           .meaning = "always `kubelet.config.k8s.io/v1beta1`",
                           .default_text = "required"}),
    document_field<Draft>({.name = "kind",
                           .type = "string",
                           .meaning = "always `KubeletConfiguration`",
                           .default_text = "required"}),
    plain_field<Draft>(
        {.name = "cpuManagerPolicy",
         .type = "`none` or `static`",
         .meaning = "`static` gives containers of Guaranteed pods that ask for "
                    "whole CPUs their own ones; `none` leaves cpusets alone"},
        [](auto& draft) -> auto& { return draft.config.cpu_manager_policy; },
        [](const Node& node, CpuManagerPolicy& into, Reading& reading) {
          read_word<2>(node, into, reading);
        }),
    free_field<Draft>({.name = "cpuManagerPolicyOptions",
                       .type = "strings by name",
                       .meaning = "options of `static`, see below; `none` has none",
                       .default_text = "none"},
                      [](const Node& node, Draft& draft, Reading& reading) {
                        read_options(node, draft.cpu_options, reading);
                      }),
    plain_field<Draft>(
        {.name = "cpuManagerReconcilePeriod",
         .type = "duration",
         .meaning = "how often cpusets that somebody else changed are repaired",
         .default_text = "`nodeStatusUpdateFrequency`"},
        [](auto& draft) -> auto& { return draft.reconcile_period; }),
    plain_field<Draft>(
        {.name = "reservedSystemCPUs",
         .type = "CPU list",
         .meaning = "CPUs that no container gets for itself, as in `0-1,8`; wins over the CPUs of "
                    "`kubeReserved` and `systemReserved`",
         .default_text = "none"},
        [](auto& draft) -> auto& { return draft.config.reserved_cpus; }),
    free_field<Draft>(
        {.name = "kubeReserved",
         .type = "strings by resource",
         .meaning = "`cpu`: with `systemReserved`, rounded up, how many CPUs are reserved; they "
                    "are taken from the lowest cores. `memory`: how much is reserved. "
                    "`ephemeral-storage` and `pid` are accepted",
         .default_text = "none"},
        [](const Node& node, Draft& draft, Reading& reading) {
          read_reservation(node, draft.kube_reserved, reading);
        }),
    free_field<Draft>({.name = "systemReserved",
                       .type = "strings by resource",
                       .meaning = "the same for the rest of the system",
                       .default_text = "none"},
                      [](const Node& node, Draft& draft, Reading& reading) {
                        read_reservation(node, draft.system_reserved, reading);
                      }),
    plain_field<Draft>(
        {.name = "topologyManagerPolicy",
         .type = "`none`, `best-effort`, `restricted` or `single-numa-node`",
         .meaning = "how firmly the resources of a pod must share NUMA nodes"},
        [](auto& draft) -> auto& { return draft.config.topology.policy; },
        [](const Node& node, TopologyPolicy& into, Reading& reading) {
          read_topology_policy(node, into, reading);
        }),
    plain_field<Draft>(
        {.name = "topologyManagerScope",
         .type = "`container` or `pod`",
         .meaning = "whether each container is aligned by itself or all of a pod "
                    "together"},
        [](auto& draft) -> auto& { return draft.config.topology.scope; },
        [](const Node& node, TopologyScope& into, Reading& reading) {
          read_topology_scope(node, into, reading);
        }),
    free_field<Draft>({.name = "topologyManagerPolicyOptions",
                       .type = "strings by name",
                       .meaning = "options of the topology manager, see below",
                       .default_text = "none"},
                      [](const Node& node, Draft& draft, Reading& reading) {
                        read_options(node, draft.topology_options, reading);
                      }),
    free_field<Draft>({.name = "featureGates",
                       .type = "booleans by name",
                       .meaning = "see below",
                       .default_text = "none"},
                      [](const Node& node, Draft& draft, Reading& reading) {
                        read_gates(node, draft.config.gates, reading);
                      }),
    plain_field<Draft>(
        {.name = "memoryManagerPolicy",
         .type = "`None` or `Static`",
         .meaning = "`Static` books memory of NUMA nodes for containers of "
                    "Guaranteed pods; it needs `reservedMemory`"},
        [](auto& draft) -> auto& { return draft.config.memory_manager_policy; },
        [](const Node& node, MemoryManagerPolicy& into, Reading& reading) {
          read_word<2>(node, into, reading);
        }),
    list_field<Draft, ReservedMemory, kReservedMemoryFields>(
        {.name = "reservedMemory",
         .type = "list",
         .meaning = "memory that `Static` leaves to the system, by NUMA node",
         .default_text = "none"},
        read_reserved_memory),
    free_field<Draft>(
        {.name = "evictionHard",
         .type = "strings by signal",
         .meaning = "`memory.available`: with `memoryManagerPolicy: Static`, this, "
                    "`kubeReserved.memory` and `systemReserved.memory` together are what "
                    "`reservedMemory` sums up to. Other signals are accepted",
         .default_text = "`memory.available: 100Mi`"},
        [](const Node& node, Draft& draft, Reading& reading) {
          read_eviction(node, draft.eviction, reading);
        }),
    plain_field<Draft>(
        {.name = "mergeDefaultEvictionSettings",
         .type = "boolean",
         .meaning = "an `evictionHard` without `memory.available` leaves that at its default "
                    "rather than at zero"},
        [](auto& draft) -> auto& { return draft.eviction.keeps_default; }),
    plain_field<Draft>(
        {.name = "nodeStatusUpdateFrequency",
         .type = "duration",
         .meaning = "how often the status of the node is computed"},
        [](auto& draft) -> auto& { return draft.config.node_status_update_frequency; }),
    plain_field<Draft>(
        {.name = "syncFrequency",
         .type = "duration",
         .meaning = "how often running pods are compared with what they should be"},
        [](auto& draft) -> auto& { return draft.config.sync_frequency; }),
    plain_field<Draft>(
        {.name = "staticPodPath",
         .type = "path",
         .meaning = "a file or folder of pods to run; a relative one starts at the "
                    "folder of the configuration file",
         .default_text = "none"},
        [](auto& draft) -> auto& { return draft.config.static_pod_path; }),
};

}  // namespace

void read_kubelet_fields(const Node& document, Draft& draft, Reading& reading) {
  read_fields<Draft>(document, kKubeletFields, UnknownField::kNote, draft, reading);
}

std::vector<FieldLine> kubelet_field_lines() {
  std::vector<FieldLine> lines;
  describe_fields<Draft>(kKubeletFields, "", lines);
  return lines;
}

}  // namespace corehold
