// SPDX-License-Identifier: Apache-2.0
#include "api/cpu_map.h"

#include <boost/json.hpp>

#include "api/json_read.h"
#include "api/machine_json.h"
#include "api/time_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kKind = "CpuMap";

json::object holder_json(const CpuHolder& holder) {
  json::object object{{"namespace", holder.namespace_name},
                      {"pod", holder.pod},
                      {"uid", holder.uid},
                      {"container", holder.container},
                      {"assigned", holder.assigned.str()},
                      {"promised", holder.promised.str()}};
  if (holder.pending) object["pending"] = holder.pending->str();
  if (holder.pending_until.count() != 0) {
    object["pendingUntil"] = micro_time_text(holder.pending_until);
  }
  object["numaNodes"] = holder.numa.str();
  if (holder.since.count() != 0) object["since"] = micro_time_text(holder.since);
  return object;
}

Result<CpuHolder> holder_from_json(const json::value& value, const Path& path) {
  const json::object* object = TRY(as_object(value, path));
  CpuHolder holder;
  holder.namespace_name = TRY(string_field(*object, path, "namespace"));
  holder.pod = TRY(string_field(*object, path, "pod"));
  holder.uid = TRY(string_field(*object, path, "uid"));
  holder.container = TRY(string_field(*object, path, "container"));
  holder.assigned = TRY(cpus_field(*object, path, "assigned"));
  holder.promised = TRY(cpus_field(*object, path, "promised"));
  if (field(*object, "pending") != nullptr) {
    holder.pending = TRY(cpus_field(*object, path, "pending"));
  }
  holder.pending_until = TRY(time_field(*object, path, "pendingUntil"));
  holder.numa = TRY(nodes_field(*object, path, "numaNodes"));
  holder.since = TRY(time_field(*object, path, "since"));
  return holder;
}

Result<Topology> machine_of(const json::object& object) {
  const json::object* machine = TRY(object_field(object, Path(), "machine"));
  if (machine == nullptr) return (Path() / "machine").error("is missing");
  return machine_from_json(*machine, Path() / "machine");
}

}  // namespace

CpuSet CpuMap::exclusive() const {
  CpuSet all;
  for (const CpuHolder& holder : containers) all |= holder.assigned;
  return all;
}

json::object to_json(const CpuMap& map) {
  json::array containers;
  containers.reserve(map.containers.size());
  for (const CpuHolder& holder : map.containers) containers.push_back(holder_json(holder));
  return {{"kind", kKind},
          {"apiVersion", "corehold.dev/v1alpha1"},
          {"metadata", json::object{{"name", map.node}}},
          {"policy", map.policy},
          {"options", json::value_from(map.options)},
          {"reserved", map.reserved.str()},
          {"shared", map.shared.str()},
          {"free", map.free.str()},
          {"exclusive", map.exclusive().str()},
          {"offline", map.offline.str()},
          {"containers", std::move(containers)},
          {"machine", machine_json(map.topology)}};
}

Result<CpuMap> cpu_map_from_json(const json::value& value) {
  const Path path;
  const json::object* object = TRY(as_object(value, path));
  TRY(expect_kind(*object, kKind));
  CpuMap map{.topology = TRY(machine_of(*object))};
  if (const json::object* metadata = TRY(object_field(*object, path, "metadata"))) {
    map.node = TRY(string_field(*metadata, path / "metadata", "name"));
  }
  map.policy = TRY(string_field(*object, path, "policy"));
  map.options = TRY(strings_field(*object, path, "options"));
  map.reserved = TRY(cpus_field(*object, path, "reserved"));
  map.shared = TRY(cpus_field(*object, path, "shared"));
  map.free = TRY(cpus_field(*object, path, "free"));
  map.offline = TRY(cpus_field(*object, path, "offline"));
  const json::array* containers = TRY(array_field(*object, path, "containers"));
  if (containers == nullptr) return map;
  map.containers.reserve(containers->size());
  for (std::size_t i = 0; i < containers->size(); ++i) {
    map.containers.push_back(TRY(holder_from_json((*containers)[i], path / "containers" / i)));
  }
  return map;
}

}  // namespace corehold
