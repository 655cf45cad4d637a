// SPDX-License-Identifier: Apache-2.0
#include "pod/pod_json.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <fmt/format.h>

#include "pod/exact_json.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Strings = std::map<std::string, std::string>;

// Texts that the kubelet would refuse further on, by their allowed values.
Result<std::string> one_of(const json::object& object, const Path& path, std::string_view key,
                           std::initializer_list<std::string_view> allowed) {
  std::string text = TRY(string_field(object, path, key));
  if (text.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end()) {
    return text;
  }
  return (path / key).error(fmt::format("{} is none of {}", shown(text), fmt::join(allowed, ", ")));
}

Result<Strings> string_map(const json::object& object, const Path& path, std::string_view key) {
  Strings strings;
  const json::object* found = TRY(object_field(object, path, key));
  if (found == nullptr) return strings;
  for (const auto& [name, unused] : *found) {
    strings.emplace(name, TRY(string_field(*found, path / key, name)));
  }
  return strings;
}

Result<std::optional<std::int32_t>> int32_field(const json::object& object, const Path& path,
                                                std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr) return std::optional<std::int32_t>();
  const std::int64_t* number = found->if_int64();
  using Limits = std::numeric_limits<std::int32_t>;
  if (number == nullptr || *number < Limits::min() || *number > Limits::max()) {
    return (path / key).error("must be a 32-bit integer");
  }
  return std::optional(static_cast<std::int32_t>(*number));
}

Result<ResourceList> resource_list(const json::object& object, const Path& path,
                                   std::string_view key) {
  ResourceList list;
  const json::object* found = TRY(object_field(object, path, key));
  if (found == nullptr) return list;
  for (const auto& [resource, amount] : *found) {
    auto quantity = quantity_of(amount);
    if (!quantity) return (path / key / resource).error(quantity.error().message);
    list.emplace(resource, *std::move(quantity));
  }
  return list;
}

Result<std::optional<Resources>> resources_field(const json::object& object, const Path& path) {
  const json::object* found = TRY(object_field(object, path, "resources"));
  if (found == nullptr) return std::optional<Resources>();
  return std::optional(TRY(resources_from_json(*found, path / "resources")));
}

Result<Strings> resize_policy(const json::object& container, const Path& path) {
  Strings policy;
  const json::array* list = TRY(array_field(container, path, "resizePolicy"));
  if (list == nullptr) return policy;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Path here = path / "resizePolicy" / i;
    const json::object* item = (*list)[i].if_object();
    if (item == nullptr) return here.error("must be an object");
    const std::string resource = TRY(string_field(*item, here, "resourceName"));
    if (resource.empty()) return (here / "resourceName").error("required");
    const std::string restart =
        TRY(one_of(*item, here, "restartPolicy", {"NotRequired", "RestartContainer"}));
    if (restart.empty()) return (here / "restartPolicy").error("required");
    if (!policy.emplace(resource, restart).second) {
      return (here / "resourceName").error(fmt::format("duplicate resource {}", shown(resource)));
    }
  }
  return policy;
}

Result<Container> container_of(const json::value& value, const Path& path, Container::Kind kind) {
  const json::object* object = value.if_object();
  if (object == nullptr) return path.error("must be an object");
  Container container;
  container.name = TRY(string_field(*object, path, "name"));
  container.restart_policy = TRY(string_field(*object, path, "restartPolicy"));
  const bool is_sidecar = kind == Container::Kind::kInit && container.restart_policy == "Always";
  container.kind = is_sidecar ? Container::Kind::kSidecar : kind;
  container.resources = TRY(resources_field(*object, path)).value_or(Resources{});
  container.resize_policy = TRY(resize_policy(*object, path));
  return container;
}

Result<std::vector<Container>> containers_of(const json::object& spec, const Path& path,
                                             std::string_view key, Container::Kind kind) {
  std::vector<Container> containers;
  const json::array* list = TRY(array_field(spec, path, key));
  if (list == nullptr) return containers;
  containers.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    containers.push_back(TRY(container_of((*list)[i], path / key / i, kind)));
  }
  return containers;
}

Result<void> read_metadata(const json::object& object, const Path& path, Pod& pod) {
  const json::object* metadata = TRY(object_field(object, path, "metadata"));
  if (metadata == nullptr) return {};
  const Path here = path / "metadata";
  pod.name = TRY(string_field(*metadata, here, "name"));
  pod.namespace_name = TRY(string_field(*metadata, here, "namespace"));
  pod.uid = TRY(string_field(*metadata, here, "uid"));
  pod.labels = TRY(string_map(*metadata, here, "labels"));
  pod.annotations = TRY(string_map(*metadata, here, "annotations"));
  return {};
}

Result<void> read_spec(const json::object& object, const Path& path, Pod& pod) {
  const json::object* spec = TRY(object_field(object, path, "spec"));
  const Path here = path / "spec";
  if (spec == nullptr) return here.error("required");
  pod.priority = TRY(int32_field(*spec, here, "priority"));
  pod.restart_policy = TRY(one_of(*spec, here, "restartPolicy", {"Always", "OnFailure", "Never"}));
  pod.init_containers = TRY(containers_of(*spec, here, "initContainers", Container::Kind::kInit));
  pod.containers = TRY(containers_of(*spec, here, "containers", Container::Kind::kApp));
  pod.resources = TRY(resources_field(*spec, here));
  return {};
}

Result<void> read_status(const json::object& object, const Path& path, Pod& pod) {
  const json::object* status = TRY(object_field(object, path, "status"));
  if (status == nullptr) return {};
  const Path here = path / "status";
  pod.qos_class = TRY(one_of(*status, here, "qosClass", {"Guaranteed", "Burstable", "BestEffort"}));
  pod.phase = TRY(string_field(*status, here, "phase"));
  return {};
}

Result<Pod> model_at(const json::object& object, const Path& path) {
  const std::string kind = TRY(string_field(object, path, "kind"));
  if (!kind.empty() && kind != "Pod") {
    return (path / "kind").error(fmt::format("{} is not a Pod", shown(kind)));
  }
  Pod pod;
  TRY(read_metadata(object, path, pod));
  TRY(read_spec(object, path, pod));
  return pod;
}

Result<Pod> pod_at(json::object object, const Path& path) {
  Pod pod = TRY(model_at(object, path));
  TRY(read_status(object, path, pod));
  pod.raw = std::move(object);
  return pod;
}

// "line 3, column 7" of a byte offset.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", lines + 1, before.size() - start + 1);
}

}  // namespace

Result<Resources> resources_from_json(const json::object& object, const Path& path) {
  Resources resources;
  resources.limits = TRY(resource_list(object, path, "limits"));
  resources.requests = TRY(resource_list(object, path, "requests"));
  return resources;
}

Result<json::value> parse_json(std::string_view text) {
  try {
    json::error_code failure;
    std::size_t read = 0;
    json::value value =
        parse_exact_json(text, static_cast<std::size_t>(kMaxNesting), failure, &read);
    if (failure == json::error::extra_data) {
      return Error{Code::kInvalid,
                   fmt::format("JSON: {}: text after the end", place_of(text, read))};
    }
    if (failure) {
      return Error{Code::kInvalid,
                   fmt::format("JSON: {}: {}", place_of(text, read), failure.message())};
    }
    return value;
  } catch (const std::exception& failure) {
    return Error{Code::kInvalid, fmt::format("JSON: {}", failure.what())};
  }
}

Result<Pod> pod_from_json(json::object object) { return pod_at(std::move(object), Path()); }

Result<Pod> pod_model(const json::object& object) { return model_at(object, Path()); }

Result<std::vector<Pod>> pods_from_json(json::value document) {
  json::object* object = document.if_object();
  if (object == nullptr) return Error{Code::kInvalid, "a pod or list of pods must be an object"};
  const std::string kind = TRY(string_field(*object, Path(), "kind"));
  std::vector<Pod> pods;
  if (kind != "List" && kind != "PodList") {
    pods.push_back(TRY(pod_at(std::move(*object), Path())));
    return pods;
  }
  json::value* items = object->if_contains("items");
  if (items == nullptr || items->is_null()) return pods;
  if (!items->is_array()) return (Path() / "items").error("must be a list");
  json::array& list = items->get_array();
  pods.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path path = Path() / "items" / i;
    json::object* item = list[i].if_object();
    if (item == nullptr) return path.error("must be an object");
    pods.push_back(TRY(pod_at(std::move(*item), path)));
  }
  return pods;
}

Result<std::vector<Pod>> parse_pods_json(std::string_view text) {
  return pods_from_json(TRY(parse_json(text)));
}

}  // namespace corehold
