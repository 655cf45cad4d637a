// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "pod/json_field.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Strings = std::map<std::string, std::string>;

// erase() would move the last field into the gap.
void remove(json::object& object, std::string_view key) {
  const auto found = object.find(key);
  if (found != object.end()) object.stable_erase(found);
}

// The object in that field; made when there is none.
json::object& object_in(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

bool is_empty_container(const json::value& value) {
  return value.is_null() || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

// Removes the field unless it says nothing already.
void clear(json::object& parent, std::string_view key) {
  const json::value* found = parent.if_contains(key);
  if (found != nullptr && !is_empty_container(*found)) remove(parent, key);
}

void put_string(json::object& object, std::string_view key, std::string_view text) {
  const json::value* found = field(object, key);
  const bool is_same =
      found == nullptr ? text.empty() : found->is_string() && found->get_string() == text;
  if (is_same) return;
  if (text.empty()) {
    remove(object, key);
  } else {
    object[key] = text;
  }
}

// Drops the fields of `object` that `model` does not have.
template <typename Map>
void drop_others(json::object& object, const Map& model) {
  std::vector<std::string> gone;
  for (const auto& [key, unused] : object) {
    if (model.find(std::string(key)) == model.end()) gone.emplace_back(key);
  }
  for (const std::string& key : gone) remove(object, key);
}

void put_strings(json::object& parent, std::string_view key, const Strings& strings) {
  if (strings.empty()) return clear(parent, key);
  json::object& object = object_in(parent, key);
  drop_others(object, strings);
  for (const auto& [name, text] : strings) {
    const json::value* found = field(object, name);
    const bool is_same = found != nullptr ? found->is_string() && found->get_string() == text
                                          : text.empty() && object.contains(name);
    if (!is_same) object[name] = text;
  }
}

void put_list(json::object& parent, std::string_view key, const ResourceList& list) {
  if (list.empty()) return clear(parent, key);
  json::object& object = object_in(parent, key);
  drop_others(object, list);
  for (const auto& [resource, amount] : list) {
    if (const json::value* found = field(object, resource)) {
      const auto before = quantity_of(*found);
      if (before && *before == amount) continue;
    }
    object[resource] = amount.str();
  }
}

void put_resources(json::object& parent, const Resources& resources) {
  if (resources == Resources{} && field(parent, "resources") == nullptr) return;
  json::object& object = object_in(parent, "resources");
  put_list(object, "limits", resources.limits);
  put_list(object, "requests", resources.requests);
}

void put_resize_policy(json::object& parent, const Strings& policy) {
  if (policy.empty()) return clear(parent, "resizePolicy");
  Strings before;
  json::value& value = parent["resizePolicy"];
  if (!value.is_array()) value.emplace_array();
  json::array& list = value.get_array();
  for (const json::value& item : list) {
    const json::object* object = item.if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("resourceName");
    const json::value* restart = object == nullptr ? nullptr : object->if_contains("restartPolicy");
    if (name == nullptr || restart == nullptr || !name->is_string() || !restart->is_string()) {
      continue;
    }
    before.emplace(std::string(name->get_string()), std::string(restart->get_string()));
  }
  if (before == policy && before.size() == list.size()) return;
  list.clear();
  for (const auto& [resource, restart] : policy) {
    list.push_back(json::object{{"resourceName", resource}, {"restartPolicy", restart}});
  }
}

// The object that described this container, taken out of `old`: the one at its place
// or any other of that name. Empty when there is none.
json::object take_container(json::array& old, std::size_t index, std::string_view name) {
  const auto is_it = [name](const json::value& value) {
    const json::object* object = value.if_object();
    const json::value* found = object == nullptr ? nullptr : field(*object, "name");
    if (found == nullptr) return object != nullptr && name.empty();
    return found->is_string() && found->get_string() == name;
  };
  auto found = index < old.size() && is_it(old[index])
                   ? old.begin() + static_cast<std::ptrdiff_t>(index)
                   : std::find_if(old.begin(), old.end(), is_it);
  if (found == old.end()) return {};
  json::object object = std::move(found->get_object());
  *found = nullptr;
  return object;
}

void put_containers(json::object& spec, std::string_view key,
                    const std::vector<Container>& containers) {
  if (containers.empty()) return clear(spec, key);
  json::value& value = spec[key];
  json::array old;
  if (value.is_array()) old = std::move(value.get_array());
  json::array list;
  list.reserve(containers.size());
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Container& container = containers[i];
    json::object object = take_container(old, i, container.name);
    put_string(object, "name", container.name);
    const bool is_sidecar = container.kind == Container::Kind::kSidecar;
    put_string(object, "restartPolicy", is_sidecar ? "Always" : container.restart_policy);
    put_resources(object, container.resources);
    put_resize_policy(object, container.resize_policy);
    list.push_back(std::move(object));
  }
  value = std::move(list);
}

void put_metadata(json::object& object, const Pod& pod) {
  json::object& metadata = object_in(object, "metadata");
  put_string(metadata, "name", pod.name);
  put_string(metadata, "namespace", pod.namespace_name);
  put_string(metadata, "uid", pod.uid);
  put_strings(metadata, "labels", pod.labels);
  put_strings(metadata, "annotations", pod.annotations);
}

void put_spec(json::object& object, const Pod& pod) {
  json::object& spec = object_in(object, "spec");
  if (pod.priority) {
    spec["priority"] = *pod.priority;
  } else if (field(spec, "priority") != nullptr) {
    remove(spec, "priority");
  }
  put_string(spec, "restartPolicy", pod.restart_policy);
  put_containers(spec, "initContainers", pod.init_containers);
  put_containers(spec, "containers", pod.containers);
  if (!pod.resources) {
    if (field(spec, "resources") != nullptr) remove(spec, "resources");
  } else {
    object_in(spec, "resources");
    put_resources(spec, *pod.resources);
  }
}

void put_status(json::object& object, const Pod& pod) {
  const bool says_nothing = pod.qos_class.empty() && pod.phase.empty();
  if (says_nothing && field(object, "status") == nullptr) return;
  json::object& status = object_in(object, "status");
  put_string(status, "qosClass", pod.qos_class);
  put_string(status, "phase", pod.phase);
}

}  // namespace

json::object to_json(const Resources& resources) {
  json::object object;
  put_list(object, "limits", resources.limits);
  put_list(object, "requests", resources.requests);
  return object;
}

json::object to_json(const Pod& pod) {
  json::object object = pod.raw;
  if (object.empty()) object = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  const bool has_metadata = !(pod.name.empty() && pod.namespace_name.empty() && pod.uid.empty() &&
                              pod.labels.empty() && pod.annotations.empty());
  if (has_metadata || field(object, "metadata") != nullptr) put_metadata(object, pod);
  put_spec(object, pod);
  put_status(object, pod);
  return object;
}

std::string write_json(const Pod& pod) { return json::serialize(to_json(pod)); }

}  // namespace corehold
