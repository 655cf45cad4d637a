// SPDX-License-Identifier: Apache-2.0
#include "features/pod_questions.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/serialize.hpp>

#include "pod/json_field.h"
#include "pod/qos.h"

namespace corehold {
namespace {

namespace json = boost::json;

std::optional<bool> flag_in(const json::object& object, std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr || !found->is_bool()) return std::nullopt;
  return found->get_bool();
}

const json::object& spec_of(const Pod& pod) { return object_or_empty(pod.raw, "spec"); }

// Whether `question` holds for an object of the list.
template <typename Question>
bool any_in(const json::object& parent, std::string_view key, const Question& question) {
  return std::ranges::any_of(list_or_empty(parent, key), [&question](const json::value& item) {
    return item.is_object() && question(item.get_object());
  });
}

template <typename Question>
bool any_container(const Pod& pod, std::initializer_list<std::string_view> lists,
                   const Question& question) {
  return std::ranges::any_of(
      lists, [&](std::string_view list) { return any_in(spec_of(pod), list, question); });
}

bool lists_assigned_item(const json::object& downward_api) {
  return any_in(downward_api, "items", [](const json::object& item) {
    return text_or_empty(object_or_empty(item, "resourceFieldRef"), "resource")
        .starts_with("assigned.");
  });
}

// Requests and limits by their spelling: what a Go program compares that compares every
// byte of a quantity. A number and the same in quotes are one spelling.
json::object spelling_of(const json::object& container) {
  json::object spelling;
  for (const auto& [kind, amounts] : object_or_empty(container, "resources")) {
    if (!amounts.is_object()) continue;
    json::object& texts = spelling[kind].emplace_object();
    for (const auto& [resource, amount] : amounts.get_object()) {
      texts[resource] = amount.is_string() ? amount : json::value(json::serialize(amount));
    }
  }
  return spelling;
}

// Null where the pod came with fewer init containers, or without JSON.
const json::object* raw_init_container(const Pod& pod, std::size_t index) {
  const json::array& list = list_or_empty(spec_of(pod), "initContainers");
  return index < list.size() ? list[index].if_object() : nullptr;
}

// The memory-backed volume of that name and its size limit; no value for other volumes
// and for one without a limit that can be read.
std::optional<Quantity> memory_limit(const json::object& volume) {
  const json::object& empty_dir = object_or_empty(volume, "emptyDir");
  const json::value* limit = field(empty_dir, "sizeLimit");
  if (limit == nullptr) return std::nullopt;
  auto quantity = quantity_of(*limit);
  if (!quantity) return std::nullopt;
  return *std::move(quantity);
}

bool is_memory_backed(const json::object& volume) {
  return text_or_empty(object_or_empty(volume, "emptyDir"), "medium") == "Memory";
}

}  // namespace

bool restarts_all_containers(const Pod& pod) {
  return any_container(pod, {"containers", "initContainers"}, [](const json::object& container) {
    return any_in(container, "restartPolicyRules", [](const json::object& rule) {
      return text_or_empty(rule, "action") == "RestartAllContainers";
    });
  });
}

bool has_user_namespace_on_host_network(const Pod& pod) {
  const json::object& spec = spec_of(pod);
  return flag_in(spec, "hostNetwork").value_or(false) && !flag_in(spec, "hostUsers").value_or(true);
}

bool has_bind_mount_options(const Pod& pod) {
  return any_container(pod, {"containers", "initContainers", "ephemeralContainers"},
                       [](const json::object& container) {
                         return any_in(container, "volumeMounts", [](const json::object& mount) {
                           return !list_or_empty(mount, "bindMountOptions").empty();
                         });
                       });
}

bool asks_for_assigned_resources(const Pod& pod) {
  return any_in(spec_of(pod), "volumes", [](const json::object& volume) {
    return lists_assigned_item(object_or_empty(volume, "downwardAPI")) ||
           any_in(object_or_empty(volume, "projected"), "sources", [](const json::object& source) {
             return lists_assigned_item(object_or_empty(source, "downwardAPI"));
           });
  });
}

bool changes_pod_level_resources(const Pod& old_pod, const Pod& new_pod) {
  return old_pod.resources != new_pod.resources;
}

bool changes_init_container_resources(const Pod& old_pod, const Pod& new_pod) {
  const std::size_t count =
      std::min(old_pod.init_containers.size(), new_pod.init_containers.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Container& before = old_pod.init_containers[i];
    if (before.kind == Container::Kind::kSidecar) continue;
    if (before.resources != new_pod.init_containers[i].resources) return true;
    const json::object* old_raw = raw_init_container(old_pod, i);
    const json::object* new_raw = raw_init_container(new_pod, i);
    if (old_raw == nullptr || new_raw == nullptr) continue;
    if (spelling_of(*old_raw) != spelling_of(*new_raw)) return true;
  }
  return false;
}

bool changes_memory_volume_size(const Pod& old_pod, const Pod& new_pod) {
  const json::object& old_spec = spec_of(old_pod);
  if (list_or_empty(old_spec, "volumes").size() !=
      list_or_empty(spec_of(new_pod), "volumes").size()) {
    return false;
  }
  return any_in(spec_of(new_pod), "volumes", [&old_spec](const json::object& volume) {
    const auto wanted = is_memory_backed(volume) ? memory_limit(volume) : std::nullopt;
    if (!wanted) return false;
    return any_in(old_spec, "volumes", [&](const json::object& before) {
      if (text_or_empty(before, "name") != text_or_empty(volume, "name")) return false;
      const auto limit = memory_limit(before);
      return limit && *limit != *wanted;
    });
  });
}

bool changes_exclusive_cpus(const Pod& old_pod, const Pod& new_pod) {
  const PodGates gates;
  return std::ranges::any_of(in_starting_order(new_pod), [&](const Container* container) {
    const Container* before = old_pod.find(container->name);
    return before != nullptr &&
           exclusive_cpus(old_pod, *before, gates) != exclusive_cpus(new_pod, *container, gates);
  });
}

}  // namespace corehold
