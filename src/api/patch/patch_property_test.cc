// SPDX-License-Identifier: Apache-2.0
//
// Properties of patches: the difference of two objects, applied to the first, gives the
// second; what was applied changes nothing when it is applied again.
#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/patch/object_schema.h"
#include "api/patch/server_side_apply.h"
#include "api/patch/strategic_patch.h"

namespace corehold {
namespace {

namespace json = boost::json;

int upto(int count) { return *rc::gen::inRange(0, count); }
bool maybe() { return upto(2) == 0; }

// ---- pods, small enough that two of them have much in common

std::vector<std::string> some_names() {
  std::vector<std::string> names;
  for (const char* name : {"a", "b", "c", "d"}) {
    if (maybe()) names.insert(names.begin() + upto(static_cast<int>(names.size()) + 1), name);
  }
  return names;
}

json::object some_map() {
  // Never empty: an empty map is a field for its manager, but none that Kubernetes keeps.
  json::object map{{"z", "1"}};
  for (const std::string& name : some_names()) map[name] = std::to_string(upto(3));
  return map;
}

template <typename Make>
json::array some_list(std::string_view key, const Make& make) {
  json::array list;
  for (const std::string& name : some_names()) {
    json::object element{{key, name}};
    make(element);
    list.push_back(std::move(element));
  }
  return list;
}

void add_some(json::object& container) {
  if (maybe()) container["image"] = std::to_string(upto(2));
  if (maybe()) {
    container["env"] =
        some_list("name", [](json::object& one) { one["value"] = std::to_string(upto(3)); });
  }
  if (maybe()) {
    container["volumeMounts"] =
        some_list("mountPath", [](json::object& one) { one["name"] = std::to_string(upto(2)); });
  }
  if (maybe()) container["resources"] = {{"limits", some_map()}};
  if (maybe()) container["args"] = {std::to_string(upto(3)), "x"};
}

json::object some_pod() {
  json::object pod{{"apiVersion", "v1"}, {"kind", "Pod"}};
  json::object metadata;
  if (maybe()) metadata["labels"] = some_map();
  if (maybe()) {
    json::array finalizers;
    for (const std::string& name : some_names()) finalizers.emplace_back(name);
    metadata["finalizers"] = std::move(finalizers);
  }
  json::object spec{{"containers", some_list("name", add_some)}};
  if (maybe()) spec["nodeSelector"] = some_map();
  if (maybe()) spec["tolerations"] = {{{"key", std::to_string(upto(3))}}};
  if (maybe()) {
    spec["volumes"] = some_list("name", [](json::object& one) {
      if (maybe()) one["emptyDir"] = json::object();
    });
  }
  pod["metadata"] = std::move(metadata);
  pod["spec"] = std::move(spec);
  return pod;
}

// ---- differences, as a client makes them

json::object merge_difference(const json::object& from, const json::object& to) {
  json::object patch;
  for (const auto& member : from) {
    if (!to.contains(member.key())) patch[member.key()] = nullptr;
  }
  for (const auto& member : to) {
    const json::value* old = from.if_contains(member.key());
    if (old != nullptr && *old == member.value()) continue;
    const bool both = old != nullptr && old->is_object() && member.value().is_object();
    patch[member.key()] =
        both ? json::value(merge_difference(old->get_object(), member.value().get_object()))
             : member.value();
  }
  return patch;
}

json::object strategic_difference(const json::object& from, const json::object& to,
                                  std::string_view type);

// What kubectl sends for a list with a merge key: what is new or other, what is to be deleted,
// and the order.
void list_difference(json::object& patch, std::string_view name, const json::array& from,
                     const json::array& to, const FieldShape& shape) {
  const std::string_view key = shape.merge_key;
  const auto same = [&](const json::value& left, const json::value& right) {
    return key.empty() ? left == right : left.get_object().at(key) == right.get_object().at(key);
  };
  const auto find = [&](const json::array& list, const json::value& element) {
    return std::find_if(list.begin(), list.end(),
                        [&](const json::value& other) { return same(other, element); });
  };
  json::array changes;
  json::array order;
  json::array gone;
  for (const json::value& element : to) {
    order.push_back(key.empty() ? element : json::object{{key, element.get_object().at(key)}});
    const auto* const old = find(from, element);
    if (old == from.end()) {
      changes.push_back(element);
    } else if (*old != element) {
      json::object one{{key, element.get_object().at(key)}};
      for (auto& member :
           strategic_difference(old->get_object(), element.get_object(), shape.type)) {
        one[member.key()] = member.value();
      }
      changes.push_back(std::move(one));
    }
  }
  for (const json::value& element : from) {
    if (find(to, element) != to.end()) continue;
    if (key.empty()) {
      gone.push_back(element);
    } else {
      changes.push_back(json::object{{key, element.get_object().at(key)}, {"$patch", "delete"}});
    }
  }
  if (!changes.empty()) patch[name] = std::move(changes);
  if (!gone.empty()) patch["$deleteFromPrimitiveList/" + std::string(name)] = std::move(gone);
  patch["$setElementOrder/" + std::string(name)] = std::move(order);
}

json::object strategic_difference(const json::object& from, const json::object& to,
                                  std::string_view type) {
  json::object patch;
  for (const auto& member : from) {
    if (!to.contains(member.key())) patch[member.key()] = nullptr;
  }
  for (const auto& member : to) {
    const json::value* old = from.if_contains(member.key());
    if (old != nullptr && *old == member.value()) continue;
    const FieldShape& shape = field_shape(type, member.key());
    if (old != nullptr && old->is_object() && member.value().is_object()) {
      patch[member.key()] =
          strategic_difference(old->get_object(), member.value().get_object(), shape.type);
    } else if (old != nullptr && old->is_array() && shape.patch == ListPatch::kMerge) {
      list_difference(patch, member.key(), old->get_array(), member.value().get_array(), shape);
    } else {
      patch[member.key()] = member.value();
    }
  }
  return patch;
}

void expect_same(const ApiResult<json::object>& result, const json::object& expected,
                 const json::object& patch) {
  RC_LOG() << json::serialize(patch) << '\n' << json::serialize(expected) << '\n';
  if (!result) RC_FAIL(result.error().message);
  RC_LOG() << json::serialize(*result) << '\n';
  RC_ASSERT(*result == expected);
}

RC_GTEST_PROP(MergePatchProperty, TheDifferenceGivesTheTargetAndTwiceIsOnce, ()) {
  const json::object from = some_pod();
  const json::object to = some_pod();
  const json::object patch = merge_difference(from, to);
  const auto once = apply_merge_patch(from, patch);
  expect_same(once, to, patch);
  expect_same(apply_merge_patch(*once, patch), to, patch);
}

RC_GTEST_PROP(StrategicPatchProperty, TheDifferenceGivesTheTargetAndTwiceIsOnce, ()) {
  const json::object from = some_pod();
  const json::object to = some_pod();
  const json::object patch = strategic_difference(from, to, "Pod");
  const auto once = apply_strategic_patch("Pod", from, patch);
  expect_same(once, to, patch);
  expect_same(apply_strategic_patch("Pod", *once, patch), to, patch);
}

// Without empty lists and objects, all the way down: of those nobody is the owner.
json::value solid(const json::value& value) {
  const auto is_empty = [](const json::value& one) {
    return (one.is_object() && one.get_object().empty()) ||
           (one.is_array() && one.get_array().empty());
  };
  if (const json::array* list = value.if_array()) {
    json::array kept;
    for (const json::value& item : *list) kept.push_back(solid(item));
    return kept;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return value;
  json::object kept;
  for (const auto& member : *object) {
    json::value inner = solid(member.value());
    if (!is_empty(inner)) kept[member.key()] = std::move(inner);
  }
  return kept;
}

RC_GTEST_PROP(ServerSideApplyProperty, AManagerAloneHasItsWay, ()) {
  const json::object first = some_pod();
  const json::object second = some_pod();
  const FieldWriter writer{.manager = "me", .now = std::chrono::milliseconds(1)};
  const auto one = server_side_apply("Pod", {}, first, writer, OnConflict::kFail);
  RC_ASSERT(one.has_value());
  const auto two = server_side_apply("Pod", *one, second, writer, OnConflict::kFail);
  if (!two) RC_FAIL(two.error().message);
  RC_LOG() << json::serialize(first) << '\n'
           << json::serialize(second) << '\n'
           << json::serialize(*two) << '\n';
  RC_ASSERT(solid(without_managed_fields(*two)) == solid(second));
  const auto again = server_side_apply("Pod", *two, second, writer, OnConflict::kFail);
  if (!again) RC_FAIL(again.error().message);
  RC_ASSERT(*again == *two);
}

RC_GTEST_PROP(ManagedFieldsProperty, EveryFieldOfAWrittenObjectHasAnOwner, ()) {
  json::object pod;
  for (int i = 0; i < 3; ++i) {
    const FieldWriter writer{.manager = std::to_string(upto(3)),
                             .now = std::chrono::milliseconds(i)};
    pod = record_update("Pod", pod, some_pod(), writer);
    FieldSet owned;
    const auto entries = managed_entries(pod);
    RC_ASSERT(entries.has_value());
    for (const ManagedEntry& entry : *entries) owned = owned.united(entry.fields);
    const FieldSet present = ownable("Pod", "", *fields_of("Pod", without_managed_fields(pod)));
    RC_ASSERT(present.minus(owned).empty());
  }
}

}  // namespace
}  // namespace corehold
