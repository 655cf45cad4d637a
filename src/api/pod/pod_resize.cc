// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_resize.h"

#include <algorithm>
#include <map>
#include <vector>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_edit.h"
#include "api/json/json_look.h"
#include "api/object/core_types.h"
#include "api/object/spec_difference.h"
#include "api/object/typed_reader.h"
#include "base/check.h"
#include "pod/qos.h"

namespace corehold {
namespace {

namespace json = boost::json;

// The old containers with the new ones' resources, in the new ones' order; one that is new is
// taken as it is, to be refused.
json::array containers_resized(const json::array& old, const json::array& next) {
  std::map<std::string_view, const json::object*> by_name;
  for (const json::value& container : old) {
    const json::object& one = as_object_or_empty(container);
    by_name.emplace(look_text(one, {"name"}), &one);
  }
  json::array merged;
  for (const json::value& container : next) {
    const json::object& one = as_object_or_empty(container);
    const auto before = by_name.find(look_text(one, {"name"}));
    json::object result = before == by_name.end() ? one : *before->second;
    copy_field(one, result, "resources");
    copy_field(one, result, "resizePolicy");
    merged.push_back(std::move(result));
  }
  return merged;
}

bool lacks_any(const json::object* before, const json::object* after) {
  if (before == nullptr) return false;
  return std::any_of(before->begin(), before->end(), [&](const auto& amount) {
    return after == nullptr || !after->contains(amount.key());
  });
}

void check_kept_amounts(const json::object& old, const json::object& owner, const ErrorPath& path,
                        FieldErrors& errors) {
  for (const std::string_view list : {"requests", "limits"}) {
    const LookPath where{"resources", list};
    if (!lacks_any(look_object(old, where), look_object(owner, where))) continue;
    errors.forbidden(path / "resources" / list, fmt::format("resource {} cannot be removed", list));
  }
}

// Whether the containers are the same ones.
bool check_same_containers(const json::object& old, const json::object& spec, std::string_view list,
                           FieldErrors& errors) {
  const ErrorPath path = ErrorPath("spec") / list;
  const json::array& before = look_array(old, {list});
  const json::array& after = look_array(spec, {list});
  if (before.size() != after.size()) {
    errors.forbidden(path, fmt::format("{} may not be added or removed on resize", list));
    return false;
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (look_text(as_object_or_empty(before[i]), {"name"}) ==
        look_text(as_object_or_empty(after[i]), {"name"})) {
      continue;
    }
    errors.forbidden(path, fmt::format("{} may not be renamed or reordered on resize", list));
    return false;
  }
  return true;
}

// `owner` with cpu and memory as in `old`.
void put_back_amounts(const json::object& old, json::object& owner) {
  if (look_object(owner, {"resources"}) == nullptr && look_object(old, {"resources"}) == nullptr)
    return;
  json::object& resources = made_object(owner, "resources");
  for (const std::string_view list : {"requests", "limits"}) {
    const json::object* before = look_object(old, {"resources", list});
    json::object& after = made_object(resources, list);
    for (const std::string_view resource : {"cpu", "memory"}) {
      after.erase(resource);
      if (before != nullptr) copy_field(*before, after, resource);
    }
  }
}

json::object with_amounts_of(const json::object& old, json::object spec) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const json::array& before = look_array(old, {list});
    json::array* after = list_in(spec, list);
    for (std::size_t i = 0; after != nullptr && i < after->size(); ++i)
      put_back_amounts(as_object_or_empty(before[i]), (*after)[i].get_object());
  }
  put_back_amounts(old, spec);
  return spec;
}

}  // namespace

json::object with_resources_of(const json::object& old, const json::object& next) {
  json::object pod = old;
  for (const std::string_view field :
       {"name", "namespace", "uid", "resourceVersion", "managedFields"}) {
    copy_field(look_object_or_empty(next, {"metadata"}), made_object(pod, "metadata"), field);
  }
  json::object& spec = made_object(pod, "spec");
  for (const std::string_view list : {"initContainers", "containers"}) {
    json::array merged =
        containers_resized(look_array(old, {"spec", list}), look_array(next, {"spec", list}));
    if (merged.empty() && !spec.contains(list)) continue;
    spec[list] = std::move(merged);
  }
  copy_field(look_object_or_empty(next, {"spec"}), spec, "resources");
  return pod;
}

void check_qos_class(const Pod& old, const Pod& pod, FieldErrors& errors) {
  const QosClass before = qos_class(old, PodGates());
  if (before == qos_class(pod, PodGates())) return;
  errors.invalid(ErrorPath("spec"), name_of(before),
                 "Pod QOS Class may not change as a result of resizing");
}

void check_pod_resize(const json::object& old_pod, const json::object& pod, FieldErrors& errors) {
  const json::object& old = look_object_or_empty(old_pod, {"spec"});
  const json::object& spec = look_object_or_empty(pod, {"spec"});
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (!check_same_containers(old, spec, list, errors)) return;
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::array& before = look_array(old, {list});
    const json::array& after = look_array(spec, {list});
    for (std::size_t i = 0; i < after.size(); ++i) {
      check_kept_amounts(as_object_or_empty(before[i]), as_object_or_empty(after[i]),
                         ErrorPath("spec") / list / i, errors);
    }
  }
  check_kept_amounts(old, spec, ErrorPath("spec"), errors);
  const StructType& type = *core_type("PodSpec");
  const json::object rest = canonical(type, with_amounts_of(old, spec));
  const json::object before = canonical(type, with_amounts_of(old, old));
  if (!means_the_same(type, before, rest))
    errors.forbidden(ErrorPath("spec"), "only cpu and memory resources are mutable");
}

}  // namespace corehold
