// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <fmt/format.h>

namespace corehold::vectors {
namespace {

namespace json = boost::json;

Error wrong_type(std::string_view field, std::string_view wanted) {
  return Error{Code::kInvalid, fmt::format("member {} is not {}", field, wanted)};
}

}  // namespace

const json::value* find(const json::object& line, std::string_view field) {
  const json::value* value = line.if_contains(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::string> text_of(const json::object& line, std::string_view field) {
  const json::value* value = find(line, field);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(field, "a string");
  return std::string(value->get_string());
}

Result<bool> flag_of(const json::object& line, std::string_view field) {
  const json::value* value = find(line, field);
  if (value == nullptr) return false;
  if (!value->is_bool()) return wrong_type(field, "a boolean");
  return value->get_bool();
}

Result<std::int64_t> number_of(const json::object& line, std::string_view field) {
  const json::value* value = find(line, field);
  if (value == nullptr || !value->is_int64()) return wrong_type(field, "a whole number");
  return value->get_int64();
}

Result<CpuSet> cpus_of(const json::object& line, std::string_view field) {
  auto cpus = CpuSet::parse(TRY(text_of(line, field)));
  if (!cpus) return wrap(field, cpus.error());
  return cpus;
}

Result<json::object> object_of(const json::object& line, std::string_view field) {
  const json::value* value = find(line, field);
  if (value == nullptr) return json::object();
  if (!value->is_object()) return wrong_type(field, "an object");
  return value->get_object();
}

Result<std::map<std::string, std::string>> texts_of(const json::object& line,
                                                    std::string_view field) {
  const json::object members = TRY(object_of(line, field));
  std::map<std::string, std::string> texts;
  for (const auto& member : members) texts[member.key()] = TRY(text_of(members, member.key()));
  return texts;
}

Result<const Topology*> machine_of(const json::object& line, const Machines& machines) {
  const std::string name = TRY(text_of(line, "topo"));
  const auto found = machines.find(name);
  if (found == machines.end()) {
    return Error{Code::kNotFound, fmt::format("topologies.json has no machine {:?}", name)};
  }
  return &found->second;
}

Result<State> state_of(const json::object& line) {
  State state{.shared = TRY(cpus_of(line, "defaultCpuSet"))};
  const json::object pods = TRY(object_of(line, "assignments"));
  for (const auto& pod : pods) {
    const json::object containers = TRY(object_of(pods, pod.key()));
    for (const auto& container : containers) {
      const CpuSet cpus = TRY(cpus_of(containers, container.key()));
      state.pods.set(pod.key(), container.key(), Holding{.assigned = cpus, .promised = cpus});
    }
  }
  return state;
}

Result<std::optional<NodeSet>> affinity_of(const json::object& step) {
  const json::value* value = find(step, "affinity");
  if (value == nullptr) return std::optional<NodeSet>();
  if (!value->is_array()) return Error{Code::kInvalid, "member affinity is not a list"};
  NodeSet nodes;
  for (const json::value& node : value->get_array()) {
    if (!node.is_int64() || !NodeSet::can_hold(static_cast<int>(node.get_int64()))) {
      return Error{Code::kInvalid, "member affinity is not a list of NUMA nodes"};
    }
    nodes.insert(NodeId(static_cast<int>(node.get_int64())));
  }
  return std::optional<NodeSet>(nodes);
}

}  // namespace corehold::vectors
