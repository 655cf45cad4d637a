// SPDX-License-Identifier: Apache-2.0
#include "api/patch/strategic_patch.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/patch/object_schema.h"
#include "api/patch/patch_body.h"
#include "api/patch/strategic_list.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList";

ApiResult<json::object> merge(json::object original, json::object patch, std::string_view type);

MergeElement element_merger(std::string_view type) {
  return [type](json::object original, json::object patch) {
    return merge(std::move(original), std::move(patch), type);
  };
}

// The list that a directive such as "$setElementOrder/env" is about; empty when it names none.
std::string_view list_of(std::string_view key, std::string_view directive) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos || key.substr(0, slash) != directive) return {};
  return key.substr(slash + 1);
}

ApiResult<json::object> run_directive(const json::value& directive, json::object patch) {
  const json::string* word = directive.if_string();
  if (word != nullptr && *word == "delete") return json::object();
  if (word != nullptr && *word == "replace") {
    json::value rest = std::move(patch);
    rest.get_object().stable_erase(kPatchDirective);
    clean_new_value(rest);
    return std::move(rest.get_object());
  }
  return patch_failed(fmt::format("unknown patch type: {} in map: {}", go_text(directive),
                                  go_text(json::value(std::move(patch)))));
}

// Takes from the original what "$retainKeys" does not name.
ApiResult<bool> retain_keys(json::object& original, const json::object& patch) {
  const json::value* directive = patch.if_contains(kRetainKeys);
  if (directive == nullptr) return true;
  const ApiStatus bad = bad_patch("invalid patch format of retainKeys");
  const json::array* list = directive->if_array();
  if (list == nullptr) return bad;
  std::unordered_set<std::string_view> kept;
  for (const json::value& name : *list) {
    if (const json::string* text = name.if_string()) kept.insert(*text);
  }
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    const bool is_said = key == kRetainKeys || member.value().is_null() ||
                         key.starts_with(kDeleteFromList) || key.starts_with(kSetElementOrder);
    if (!is_said && !kept.contains(key)) return bad;
  }
  std::vector<std::string> gone;
  for (const auto& member : original) {
    if (!kept.contains(member.key())) gone.emplace_back(member.key());
  }
  erase_members(original, {gone.begin(), gone.end()});
  return true;
}

// Null when it is absent; fails when it is no list.
ApiResult<json::array*> list_in(json::object& object, std::string_view key) {
  json::value* found = object.if_contains(key);
  if (found == nullptr) return static_cast<json::array*>(nullptr);
  if (json::array* list = found->if_array()) return list;
  return wrong_type("[]interface {}", *found);
}

// The places that the elements of a list have for set_order(): those of the original, with new
// elements of the patch in the room, at the end, that deleted ones left. (In Kubernetes this
// comes of lists that share memory, but clients see it.)
json::array places_after(const json::array& original, const json::array& patch,
                         std::string_view merge_key) {
  const auto key_of = [&](const json::value& element) -> const json::value* {
    const json::object* object = element.if_object();
    return object == nullptr || merge_key.empty() ? nullptr : object->if_contains(merge_key);
  };
  std::unordered_set<std::string> gone;
  std::unordered_set<std::string> there;
  for (const json::value& element : patch) {
    const json::value* key = key_of(element);
    const json::object* object = element.if_object();
    if (object == nullptr || !object->contains(kPatchDirective)) continue;
    if (object->at(kPatchDirective) == "replace") return original;
    if (key != nullptr) gone.insert(json::serialize(*key));
  }
  json::array places;
  for (const json::value& element : original) {
    const json::value* key = key_of(element);
    const std::string text = key == nullptr ? "" : json::serialize(*key);
    if (gone.contains(text)) continue;
    there.insert(text);
    places.push_back(element);
  }
  for (const json::value& element : patch) {
    const json::value* key = key_of(element);
    if (places.size() >= original.size()) break;
    if (key == nullptr || element.get_object().contains(kPatchDirective)) continue;
    if (there.insert(json::serialize(*key)).second) {
      places.push_back(json::object{{merge_key, *key}});
    }
  }
  return places;
}

// Merges the list that `key`, a "$setElementOrder/LIST", is about, and gives it that order.
// LIST is then done and leaves the patch.
ApiResult<bool> set_order(json::object& original, json::object& patch, std::string_view key,
                          std::string_view type) {
  const json::array* order = TRY(list_in(patch, key));
  const std::string name(list_of(key, kSetElementOrder));
  if (name.empty()) return bad_patch("invalid patch format of setElementOrder list");
  json::array* there = TRY(list_in(original, name));
  json::array* changes = TRY(list_in(patch, name));
  if (there == nullptr && changes == nullptr) return true;

  const FieldShape& shape = field_shape(type, name);
  const json::array before = there == nullptr ? json::array() : *there;
  const json::array places =
      changes == nullptr ? before : places_after(before, *changes, shape.merge_key);
  if (changes != nullptr && shape.patch == ListPatch::kMerge) {
    TRY(check_element_order(*changes, *order, shape.merge_key));
  }
  json::array merged;
  if (changes == nullptr) {
    merged = before;
  } else if (shape.patch == ListPatch::kReplace || there == nullptr) {
    json::value replacement = std::move(*changes);
    clean_new_value(replacement);
    merged = std::move(replacement.get_array());
  } else {
    TRY(check_element_order(*changes, *order, shape.merge_key));
    merged =
        TRY(merge_lists(before, std::move(*changes), shape.merge_key, element_merger(shape.type)));
  }
  if (shape.patch == ListPatch::kMerge) {
    merged = TRY(order_elements(std::move(merged), *order, places, shape.merge_key));
  }
  original[name] = std::move(merged);
  patch.stable_erase(name);
  return true;
}

ApiResult<bool> set_orders(json::object& original, json::object& patch, std::string_view type) {
  std::vector<std::string> keys;
  for (const auto& member : patch) {
    if (member.key().starts_with(kSetElementOrder)) keys.emplace_back(member.key());
  }
  for (const std::string& key : keys) TRY(set_order(original, patch, key, type));
  return true;
}

ApiResult<bool> delete_from_list(json::object& original, const json::value& gone,
                                 std::string_view key, std::string_view type) {
  const std::string_view name = list_of(key, kDeleteFromList);
  const ApiStatus bad = bad_patch("invalid patch format of primitive list");
  const FieldShape& shape = field_shape(type, name);
  if (name.empty() || !gone.is_array()) return bad;
  if (shape.patch != ListPatch::kMerge || !shape.merge_key.empty()) return bad;
  json::value* there = original.if_contains(name);
  if (there != nullptr && there->is_array()) *there = without(there->get_array(), gone.get_array());
  return true;
}

// One member of the patch that is no directive and not null.
ApiResult<bool> merge_member(json::object& original, std::string_view key, json::value value,
                             std::string_view type) {
  json::value* there = original.if_contains(key);
  const FieldShape& shape = field_shape(type, key);
  if (there != nullptr && there->is_object() && value.is_object()) {
    *there = TRY(merge(std::move(there->get_object()), std::move(value.get_object()), shape.type));
    return true;
  }
  if (there != nullptr && there->is_array() && value.is_array() &&
      shape.patch == ListPatch::kMerge) {
    *there = TRY(merge_lists(std::move(there->get_array()), std::move(value.get_array()),
                             shape.merge_key, element_merger(shape.type)));
    return true;
  }
  if (clean_new_value(value)) {
    original.insert_or_assign(key, std::move(value));
  } else {
    original.stable_erase(key);
  }
  return true;
}

ApiResult<json::object> merge(json::object original, json::object patch, std::string_view type) {
  if (const json::value* found = patch.if_contains(kPatchDirective)) {
    const json::value directive = *found;
    return run_directive(directive, std::move(patch));
  }
  TRY(retain_keys(original, patch));
  TRY(set_orders(original, patch, type));
  std::vector<std::string_view> gone;
  for (auto& member : patch) {
    const std::string_view key = member.key();
    if (key == kRetainKeys || key.starts_with(kSetElementOrder)) continue;
    if (key.starts_with(kDeleteFromList)) {
      TRY(delete_from_list(original, member.value(), key, type));
    } else if (member.value().is_null()) {
      gone.push_back(key);
    } else {
      TRY(merge_member(original, key, std::move(member.value()), type));
    }
  }
  erase_members(original, gone);
  return original;
}

}  // namespace

ApiResult<json::object> apply_strategic_patch(std::string_view kind, json::object current,
                                              json::value patch) {
  if (patch.is_null()) return current;
  json::object* changes = patch.if_object();
  if (changes == nullptr) {
    return bad_patch(
        fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    go_json_type(patch)));
  }
  return merge(std::move(current), std::move(*changes), type_of_kind(kind));
}

}  // namespace corehold
