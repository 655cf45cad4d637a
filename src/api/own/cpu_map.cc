// SPDX-License-Identifier: Apache-2.0
#include "api/own/cpu_map.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_read.h"
#include "api/json/time_text.h"
#include "api/own/machine_json.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::string_view kKind = "CpuMap";

json::object holder_json(const CpuHolder& holder) {
  json::object object{{"namespace", holder.namespace_name},
                      {"pod", holder.pod},
                      {"uid", holder.uid},
                      {"container", holder.container},
                      {"assigned", holder.assigned.str()},
                      {"promised", holder.promised.str()}};
  if (holder.pending) object["pending"] = holder.pending->str();
  if (holder.pending_for) object["pendingMilliseconds"] = holder.pending_for->count();
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
  if (field(*object, "pendingMilliseconds") != nullptr) {
    holder.pending_for = milliseconds{TRY(integer_field(*object, path, "pendingMilliseconds", 0))};
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

// "5s", "1500ms".
std::string duration_text(milliseconds duration) {
  const std::int64_t count = duration.count();
  return count % 1000 == 0 ? fmt::format("{}s", count / 1000) : fmt::format("{}ms", count);
}

Result<milliseconds> duration_field(const json::object& object, const Path& path,
                                    std::string_view key) {
  const std::string text = TRY(string_field(object, path, key));
  if (text.empty()) return milliseconds{0};
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  const std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
  const bool seconds = unit == "s";
  if (read.ec != std::errc() || count < 0 || (!seconds && unit != "ms") ||
      count > std::numeric_limits<std::int64_t>::max() / 1000) {
    return (path / key).error("must be a duration such as 5s or 1500ms");
  }
  return milliseconds{seconds ? count * 1000 : count};
}

json::object gates_json(const std::map<std::string, bool>& gates) {
  json::object object;
  for (const auto& [name, on] : gates) object[name] = on;
  return object;
}

// An object whose members are all of one kind; `read` reads one.
template <typename T>
Result<std::map<std::string, T>> map_field(const json::object& object, const Path& path,
                                           std::string_view key,
                                           Result<T> (*read)(const json::object&, const Path&,
                                                             std::string_view)) {
  std::map<std::string, T> members;
  const json::object* given = TRY(object_field(object, path, key));
  if (given == nullptr) return members;
  for (const auto& member : *given) {
    const std::string name(member.key());
    members[name] = TRY(read(*given, path / key, name));
  }
  return members;
}

json::object settings_json(const CpuSettings& settings) {
  return {{"topologyManagerPolicy", settings.topology_policy},
          {"topologyManagerScope", settings.topology_scope},
          {"topologyManagerPolicyOptions", json::value_from(settings.topology_options)},
          {"featureGates", gates_json(settings.gates)},
          {"featureGatesWithoutEffect", gates_json(settings.idle_gates)},
          {"declaredFeatures", json::value_from(settings.declared_features)},
          {"undeclaredFeatures", json::value_from(settings.undeclared_features)},
          {"scaleDelay", duration_text(settings.scale_delay)},
          {"cpuManagerReconcilePeriod", duration_text(settings.reconcile_period)},
          {"minSharedCPUs", settings.min_shared},
          {"isolation", settings.isolation}};
}

Result<CpuSettings> settings_of(const json::object& object) {
  CpuSettings settings;
  const Path path = Path() / "settings";
  const json::object* given = TRY(object_field(object, Path(), "settings"));
  if (given == nullptr) return settings;
  settings.topology_policy = TRY(string_field(*given, path, "topologyManagerPolicy"));
  settings.topology_scope = TRY(string_field(*given, path, "topologyManagerScope"));
  settings.topology_options = TRY(strings_field(*given, path, "topologyManagerPolicyOptions"));
  settings.gates = TRY(map_field(*given, path, "featureGates", bool_field));
  settings.idle_gates = TRY(map_field(*given, path, "featureGatesWithoutEffect", bool_field));
  settings.declared_features = TRY(strings_field(*given, path, "declaredFeatures"));
  settings.undeclared_features = TRY(map_field(*given, path, "undeclaredFeatures", string_field));
  settings.scale_delay = TRY(duration_field(*given, path, "scaleDelay"));
  settings.reconcile_period = TRY(duration_field(*given, path, "cpuManagerReconcilePeriod"));
  settings.min_shared = static_cast<int>(TRY(integer_field(*given, path, "minSharedCPUs", 0)));
  settings.isolation = TRY(string_field(*given, path, "isolation"));
  return settings;
}

}  // namespace

bool CpuMap::has_option(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

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
          {"settings", settings_json(map.settings)},
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
  map.settings = TRY(settings_of(*object));
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
