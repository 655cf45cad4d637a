// SPDX-License-Identifier: Apache-2.0
#include "api/patch/strategic_list.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/patch/patch_body.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Places = std::unordered_map<std::string, std::size_t>;

bool is_directive(std::string_view key) {
  return key == "$retainKeys" || key.starts_with(kSetElementOrder) ||
         key.starts_with("$deleteFromPrimitiveList");
}

bool is_deletion(const json::value& element) {
  const json::object* object = element.if_object();
  const json::value* directive = object == nullptr ? nullptr : object->if_contains(kPatchDirective);
  return directive != nullptr && directive->is_string() && directive->get_string() == "delete";
}

ApiStatus no_merge_key(const json::object& element, std::string_view merge_key) {
  return patch_failed(
      fmt::format("map: {} does not contain declared merge key: {}", go_text(element), merge_key));
}

// What tells an element from the others: its value, or that of its merge key. Fails when
// it has none.
ApiResult<std::string> key_of(const json::value& element, std::string_view merge_key) {
  if (merge_key.empty()) return json::serialize(element);
  const json::object* object = element.if_object();
  if (object == nullptr) return wrong_type("map[string]interface {}", element);
  const json::value* key = object->if_contains(merge_key);
  if (key == nullptr) return no_merge_key(*object, merge_key);
  return json::serialize(*key);
}

ApiResult<std::vector<std::string>> keys_of(const json::array& list, std::string_view merge_key) {
  std::vector<std::string> keys;
  keys.reserve(list.size());
  for (const json::value& element : list) keys.push_back(TRY(key_of(element, merge_key)));
  return keys;
}

// Where each key is first.
Places places_of(const std::vector<std::string>& keys) {
  Places places;
  for (std::size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i], i);
  return places;
}

std::optional<std::size_t> place(const Places& places, const std::string& key) {
  const auto found = places.find(key);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

struct Element {
  json::value value{};
  std::optional<std::size_t> in_patch{};
  std::optional<std::size_t> in_original{};
};

// Both sides keep their order; an element of the original alone goes first only where both
// were in the original, in that order.
json::array interleave(std::vector<Element> original_only, std::vector<Element> patched) {
  json::array result;
  result.reserve(original_only.size() + patched.size());
  auto left = original_only.begin();
  auto right = patched.begin();
  while (left != original_only.end() || right != patched.end()) {
    const bool takes_left =
        right == patched.end() || (left != original_only.end() && left->in_original &&
                                   right->in_original && *left->in_original < *right->in_original);
    Element& next = takes_left ? *left++ : *right++;
    result.push_back(std::move(next.value));
  }
  return result;
}

// All elements are scalars of one type or all are objects. Fails otherwise.
ApiResult<bool> are_objects(const json::array& original, const json::array& patch) {
  const json::value* first = nullptr;
  for (const json::array* list : {&original, &patch}) {
    for (const json::value& element : *list) {
      if (element.is_array()) {
        return ApiStatus{.reason = StatusReason::kInvalid,
                         .message = "lists of lists are not supported",
                         .has_details = true};
      }
      if (first == nullptr) first = &element;
      if (go_type(*first) != go_type(element) || element.is_null()) {
        return patch_failed(fmt::format("list element types are not identical: [{} {}]",
                                        go_text(original), go_text(patch)));
      }
    }
  }
  return first != nullptr && first->is_object();
}

struct Plain {
  json::array original{};
  json::array patch{};
};

// What is left to merge once the elements with directives have had their effect.
ApiResult<Plain> run_directives(json::array original, json::array patch,
                                std::string_view merge_key) {
  Plain plain;
  bool replaces = false;
  std::unordered_set<std::string> gone;
  for (json::value& element : patch) {
    const json::object& object = element.get_object();
    const json::value* directive = object.if_contains(kPatchDirective);
    if (directive == nullptr) {
      plain.patch.push_back(std::move(element));
      continue;
    }
    const json::string* word = directive->if_string();
    if (word != nullptr && *word == "delete") {
      gone.insert(TRY(key_of(element, merge_key)));
    } else if (word != nullptr && *word == "replace") {
      replaces = true;
    } else if (word != nullptr && *word == "merge") {
      return patch_failed("merging lists cannot yet be specified in the patch");
    } else {
      return patch_failed(
          fmt::format("unknown patch type: {} in map: {}", go_text(*directive), go_text(element)));
    }
  }
  if (replaces) {
    for (json::value& element : plain.patch) clean_new_value(element);
    return Plain{.original = std::move(plain.patch)};
  }
  plain.original.reserve(original.size());
  for (json::value& element : original) {
    const json::value* key = element.get_object().if_contains(merge_key);
    if (key == nullptr || !gone.contains(json::serialize(*key))) {
      plain.original.push_back(std::move(element));
    }
  }
  return plain;
}

ApiResult<json::array> merge_objects(json::array original, json::array patch,
                                     std::string_view merge_key, const MergeElement& merge) {
  Places places;
  for (std::size_t i = 0; i < original.size(); ++i) {
    const json::value* key = original[i].get_object().if_contains(merge_key);
    if (key != nullptr) places.emplace(json::serialize(*key), i);
  }
  for (json::value& element : patch) {
    const auto [found, is_new] = places.emplace(TRY(key_of(element, merge_key)), original.size());
    if (is_new) {
      clean_new_value(element);
      original.push_back(std::move(element));
      continue;
    }
    json::value& there = original[found->second];
    there = TRY(merge(std::move(there.get_object()), std::move(element.get_object())));
  }
  return original;
}

json::array merge_scalars(const json::array& original, const json::array& patch) {
  std::unordered_set<std::string> seen;
  json::array merged;
  merged.reserve(original.size() + patch.size());
  for (const json::array* list : {&original, &patch}) {
    for (const json::value& element : *list) {
      if (seen.insert(json::serialize(element)).second) merged.push_back(element);
    }
  }
  return merged;
}

}  // namespace

bool clean_new_value(json::value& value) {
  if (json::array* list = value.if_array()) {
    json::array kept;
    kept.reserve(list->size());
    for (json::value& item : *list) {
      if (clean_new_value(item)) kept.push_back(std::move(item));
    }
    *list = std::move(kept);
    return true;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return true;
  if (object->contains(kPatchDirective)) return false;
  std::vector<std::string_view> gone;
  for (auto& member : *object) {
    const std::string_view key = member.key();
    if (is_directive(key) || member.value().is_null() || !clean_new_value(member.value())) {
      gone.push_back(key);
    }
  }
  // The keys are the object's own, which erasing would take away under its hands.
  const std::vector<std::string> names(gone.begin(), gone.end());
  erase_members(*object, {names.begin(), names.end()});
  return true;
}

ApiResult<json::array> merge_lists(json::array original, json::array patch,
                                   std::string_view merge_key, const MergeElement& merge) {
  if (original.empty() && patch.empty()) return original;
  if (!TRY(are_objects(original, patch))) {
    if (!merge_key.empty()) {
      const json::array& list = original.empty() ? patch : original;
      return wrong_type("map[string]interface {}", list.front());
    }
    json::array merged = merge_scalars(original, patch);
    return order_elements(std::move(merged), patch, original, merge_key);
  }
  if (merge_key.empty()) {
    return patch_failed("cannot merge lists without merge key for string");
  }
  Plain plain = TRY(run_directives(std::move(original), std::move(patch), merge_key));
  // Only the keys of these are needed after the merge, which may be of large elements.
  const auto key_only = [&](const json::array& list) -> ApiResult<json::array> {
    json::array keys;
    keys.reserve(list.size());
    for (const json::value& element : list) {
      TRY(key_of(element, merge_key));
      keys.push_back(json::object{{merge_key, element.get_object().at(merge_key)}});
    }
    return keys;
  };
  const json::array before = TRY(key_only(plain.original));
  const json::array order = TRY(key_only(plain.patch));
  json::array merged =
      TRY(merge_objects(std::move(plain.original), std::move(plain.patch), merge_key, merge));
  return order_elements(std::move(merged), order, before, merge_key);
}

ApiResult<bool> check_element_order(const json::array& patch, const json::array& order,
                                    std::string_view merge_key) {
  if (order.empty()) return true;
  std::size_t next = 0;
  for (const json::value& element : patch) {
    if (!merge_key.empty() && !element.is_object()) {
      return wrong_type("map[string]interface {}", element);
    }
    if (is_deletion(element)) continue;
    const bool has_directive =
        element.is_object() && element.get_object().contains(kPatchDirective);
    if (next < order.size() && has_directive) continue;
    const std::string key = next < order.size() ? TRY(key_of(element, merge_key)) : "";
    while (next < order.size() && TRY(key_of(order[next], merge_key)) != key) ++next;
    if (next >= order.size()) {
      return patch_failed(fmt::format("The order in patch list:\n{}\n doesn't match {} list:\n{}\n",
                                      go_text(patch), kSetElementOrder, go_text(order)));
    }
    ++next;
  }
  return true;
}

ApiResult<json::array> order_elements(json::array merged, const json::array& order,
                                      const json::array& original, std::string_view merge_key) {
  const Places in_patch = places_of(TRY(keys_of(order, merge_key)));
  const Places in_original = places_of(TRY(keys_of(original, merge_key)));
  std::vector<Element> patched;
  std::vector<Element> original_only;
  for (json::value& value : merged) {
    const std::string key = TRY(key_of(value, merge_key));
    Element element{.value = std::move(value),
                    .in_patch = place(in_patch, key),
                    .in_original = place(in_original, key)};
    (element.in_patch ? patched : original_only).push_back(std::move(element));
  }
  std::stable_sort(patched.begin(), patched.end(), [](const Element& left, const Element& right) {
    return left.in_patch < right.in_patch;
  });
  return interleave(std::move(original_only), std::move(patched));
}

json::array without(const json::array& list, const json::array& gone) {
  std::unordered_set<std::string> texts;
  for (const json::value& value : gone) texts.insert(json::serialize(value));
  json::array kept;
  for (const json::value& value : list) {
    if (!texts.contains(json::serialize(value))) kept.push_back(value);
  }
  return kept;
}

ApiStatus wrong_type(std::string_view expected, const json::value& value) {
  return patch_failed(fmt::format("expected a {}, but received a {}", expected, go_type(value)));
}

}  // namespace corehold
