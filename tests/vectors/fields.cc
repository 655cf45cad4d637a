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

}  // namespace corehold::vectors
