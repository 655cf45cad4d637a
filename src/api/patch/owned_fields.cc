// SPDX-License-Identifier: Apache-2.0
#include "api/patch/owned_fields.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/patch/object_schema.h"
#include "api/patch/patch_body.h"

namespace corehold {
namespace {

namespace json = boost::json;

std::string field_element(std::string_view name) { return fmt::format("f:{}", name); }

FieldShape root_shape(std::string_view kind) {
  return {.shape = Shape::kStruct, .type = type_of_kind(kind)};
}

// Of one member of an object, or of an element of a list, that has this shape.
FieldShape shape_of_member(const FieldShape& parent, std::string_view name) {
  return parent.shape == Shape::kStruct ? field_shape(parent.type, name) : FieldShape{};
}
FieldShape shape_of_element(const FieldShape& parent) {
  const bool is_struct = parent.shape == Shape::kKeyedList && !parent.type.empty();
  return is_struct ? FieldShape{.shape = Shape::kStruct, .type = parent.type} : FieldShape{};
}

bool is_list(const FieldShape& shape) {
  return shape.shape == Shape::kKeyedList || shape.shape == Shape::kSet;
}

// The value as what its shape says; null when it is something else, and is then atomic.
const json::object* object_of(const FieldShape& shape, const json::value* value) {
  const bool is_object = shape.shape == Shape::kStruct || shape.shape == Shape::kMap;
  return is_object && value != nullptr ? value->if_object() : nullptr;
}
const json::array* list_of_shape(const FieldShape& shape, const json::value* value) {
  return is_list(shape) && value != nullptr ? value->if_array() : nullptr;
}

struct ElementKey {
  std::string element{};
  std::string missing{};  // the key that the element does not have; then `element` is empty
};

// What tells an element of a list from the others.
ElementKey key_of_element(const FieldShape& shape, const json::value& value) {
  if (shape.shape == Shape::kSet) return {.element = "v:" + json::serialize(value)};
  const json::object* object = value.if_object();
  json::object keys;
  std::string_view rest = shape.keys;
  while (!rest.empty()) {
    const std::string_view key = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
    const json::value* found = object == nullptr ? nullptr : object->if_contains(key);
    const std::string_view otherwise = default_of_key(key);
    if (found != nullptr && !found->is_null()) {
      keys[key] = *found;
    } else if (!otherwise.empty()) {
      keys[key] = otherwise;
    } else {
      return {.missing = std::string(key)};
    }
  }
  return {.element = "k:" + json::serialize(keys)};
}

std::string element_or_place(const FieldShape& shape, const json::array& list, std::size_t i) {
  ElementKey key = key_of_element(shape, list[i]);
  return key.missing.empty() ? std::move(key.element) : fmt::format("i:{}", i);
}

// ---- which fields an object has

class FieldReader {
 public:
  ApiResult<FieldSet> read(const FieldShape& root, const json::object& object) {
    TRY(members(root, object));
    return std::move(set_);
  }

 private:
  ApiResult<bool> value(const FieldShape& shape, const json::value& one) {
    if (const json::object* object = object_of(shape, &one)) return members(shape, *object);
    if (const json::array* list = list_of_shape(shape, &one)) return elements(shape, *list);
    // A list or an object that is null has no fields; its parent speaks of it.
    if (shape.shape == Shape::kAtomic || !one.is_null()) set_.insert(path_);
    return true;
  }

  ApiResult<bool> members(const FieldShape& shape, const json::object& object) {
    for (const auto& member : object) {
      const json::value& one = member.value();
      path_.push_back(field_element(member.key()));
      TRY(value(shape_of_member(shape, member.key()), one));
      const bool is_empty = one.is_null() || (one.is_object() && one.get_object().empty());
      if (is_empty || shape.shape == Shape::kMap) set_.insert(path_);
      path_.pop_back();
    }
    return true;
  }

  ApiResult<bool> elements(const FieldShape& shape, const json::array& list) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      ElementKey key = key_of_element(shape, list[i]);
      if (!key.missing.empty()) {
        return patch_failed(fmt::format(
            "{}: element {}: associative list with keys has an element that omits key field "
            "\"{}\" (and doesn't have default value)",
            path_text(path_), i, key.missing));
      }
      if (!seen.insert(key.element).second) {
        return patch_failed(fmt::format("{}: duplicate entries for key {}", path_text(path_),
                                        path_text({key.element})));
      }
      path_.push_back(std::move(key.element));
      TRY(value(shape_of_element(shape), list[i]));
      set_.insert(path_);
      path_.pop_back();
    }
    return true;
  }

  FieldSet set_{};
  FieldPath path_{};
};

// ---- what differs between two

class FieldComparer {
 public:
  void members(const FieldShape& shape, const json::object* before, const json::object* after) {
    const json::object none;
    const json::object& left = before == nullptr ? none : *before;
    const json::object& right = after == nullptr ? none : *after;
    for (const auto& member : left) {
      one(field_element(member.key()), shape_of_member(shape, member.key()), &member.value(),
          right.if_contains(member.key()));
    }
    for (const auto& member : right) {
      if (left.contains(member.key())) continue;
      one(field_element(member.key()), shape_of_member(shape, member.key()), nullptr,
          &member.value());
    }
  }

  FieldChanges take() { return std::move(changes_); }

 private:
  // A member or an element; null: not there.
  void one(std::string element, const FieldShape& shape, const json::value* before,
           const json::value* after) {
    path_.push_back(std::move(element));
    value(shape, before, after);
    if (before == nullptr) {
      changes_.added.insert(path_);
    } else if (after == nullptr) {
      changes_.removed.insert(path_);
    }
    path_.pop_back();
  }

  void value(const FieldShape& shape, const json::value* before, const json::value* after) {
    const json::object* old_object = object_of(shape, before);
    const json::object* new_object = object_of(shape, after);
    const bool has_members = (old_object != nullptr && !old_object->empty()) ||
                             (new_object != nullptr && !new_object->empty());
    if (has_members && fits(old_object, before) && fits(new_object, after)) {
      members(shape, old_object, new_object);
      return;
    }
    const json::array* old_list = list_of_shape(shape, before);
    const json::array* new_list = list_of_shape(shape, after);
    const bool has_elements =
        (old_list != nullptr && !old_list->empty()) || (new_list != nullptr && !new_list->empty());
    if (has_elements && fits(old_list, before) && fits(new_list, after)) {
      elements(shape, old_list, new_list);
      return;
    }
    if (before != nullptr && after != nullptr && *before != *after) {
      changes_.modified.insert(path_);
    }
  }

  // Whether a value is of the shape, or stands for an empty one.
  static bool fits(const void* as_shape, const json::value* value) {
    return as_shape != nullptr || value == nullptr || value->is_null();
  }

  void elements(const FieldShape& shape, const json::array* before, const json::array* after) {
    struct Sides {
      std::vector<const json::value*> before{};
      std::vector<const json::value*> after{};
    };
    std::map<std::string, Sides> by_key;
    for (std::size_t i = 0; before != nullptr && i < before->size(); ++i) {
      by_key[element_or_place(shape, *before, i)].before.push_back(&(*before)[i]);
    }
    for (std::size_t i = 0; after != nullptr && i < after->size(); ++i) {
      by_key[element_or_place(shape, *after, i)].after.push_back(&(*after)[i]);
    }
    for (const auto& [key, sides] : by_key) {
      const json::value* old_one = sides.before.empty() ? nullptr : sides.before.front();
      const json::value* new_one = sides.after.empty() ? nullptr : sides.after.front();
      if (sides.before.size() <= 1 && sides.after.size() <= 1) {
        one(key, shape_of_element(shape), old_one, new_one);
        continue;
      }
      // Several with one key: nobody can tell whose which is, so they are one thing.
      const bool is_same = std::equal(
          sides.before.begin(), sides.before.end(), sides.after.begin(), sides.after.end(),
          [](const auto* left, const auto* right) { return *left == *right; });
      path_.push_back(key);
      if (old_one == nullptr) {
        changes_.added.insert(path_);
      } else if (new_one == nullptr) {
        changes_.removed.insert(path_);
      } else if (!is_same) {
        changes_.modified.insert(path_);
      }
      path_.pop_back();
    }
  }

  FieldChanges changes_{};
  FieldPath path_{};
};

// ---- an object without some of its fields

bool strip(const FieldShape& shape, json::value& value, const FieldSet& gone);

// True: nothing is left.
bool strip_members(const FieldShape& shape, json::object& object, const FieldSet& gone) {
  std::vector<std::string> erased;
  for (auto& member : object) {
    const FieldSet* below = gone.child(field_element(member.key()));
    if (below == nullptr) continue;
    if (below->is_member() || strip(shape_of_member(shape, member.key()), member.value(), *below)) {
      erased.emplace_back(member.key());
    }
  }
  erase_members(object, {erased.begin(), erased.end()});
  return object.empty();
}

// True: nothing is left.
bool strip(const FieldShape& shape, json::value& value, const FieldSet& gone) {
  if (gone.children().empty()) return false;
  if (object_of(shape, &value) != nullptr) {
    return strip_members(shape, value.get_object(), gone);
  }
  if (list_of_shape(shape, &value) == nullptr) return false;
  json::array& list = value.get_array();
  json::array kept;
  kept.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const FieldSet* below = gone.child(element_or_place(shape, list, i));
    const bool goes =
        below != nullptr && (below->is_member() || strip(shape_of_element(shape), list[i], *below));
    if (!goes) kept.push_back(std::move(list[i]));
  }
  list = std::move(kept);
  return list.empty();
}

FieldSet name_parents(const FieldShape& shape, const FieldSet& set) {
  FieldSet result;
  if (set.is_member()) result.make_member();
  for (const auto& [element, node] : set.children()) {
    const bool is_field = element.starts_with("f:");
    const FieldShape inner = is_field ? shape_of_member(shape, std::string_view(element).substr(2))
                                      : shape_of_element(shape);
    FieldSet below = name_parents(inner, node);
    if (is_field && shape.shape == Shape::kStruct && !node.children().empty()) below.make_member();
    result.below(element) = std::move(below);
  }
  return result;
}

// ---- two merged

void merge_value(const FieldShape& shape, json::value& live, const json::value& config);

// A list or map without anything in it, which Kubernetes does not write.
bool is_empty_collection(const FieldShape& shape, const json::value& value) {
  if (const json::array* list = list_of_shape(shape, &value)) return list->empty();
  return shape.shape == Shape::kMap && value.is_object() && value.get_object().empty();
}

void merge_members(const FieldShape& shape, json::object& live, const json::object& config) {
  std::vector<std::string_view> gone;
  for (const auto& member : config) {
    // A field that was written empty is one that is not there.
    if (member.value().is_null()) {
      gone.push_back(member.key());
      continue;
    }
    const FieldShape inner = shape_of_member(shape, member.key());
    if (!live.contains(member.key()) && is_empty_collection(inner, member.value())) continue;
    merge_value(inner, live[member.key()], member.value());
  }
  erase_members(live, gone);
}

json::array merge_elements(const FieldShape& shape, json::array live, const json::array& config) {
  std::map<std::string, std::size_t> in_live;
  std::vector<std::string> live_keys;
  live_keys.reserve(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    live_keys.push_back(element_or_place(shape, live, i));
    in_live.emplace(live_keys.back(), i);
  }
  std::vector<std::string> config_keys;
  std::set<std::string> in_config;
  config_keys.reserve(config.size());
  for (std::size_t i = 0; i < config.size(); ++i) {
    config_keys.push_back(element_or_place(shape, config, i));
    in_config.insert(config_keys.back());
  }
  // For each element of config the next one, itself too, that both have.
  std::vector<const std::string*> next_shared(config.size() + 1, nullptr);
  for (std::size_t i = config.size(); i-- > 0;) {
    next_shared[i] = in_live.contains(config_keys[i]) ? &config_keys[i] : next_shared[i + 1];
  }

  json::array merged;
  merged.reserve(live.size() + config.size());
  std::size_t next = 0;  // of live
  // Those of live alone, up to the element `until` that both have; without one, all.
  const auto take_live = [&](const std::string* until) {
    for (; next < live.size(); ++next) {
      if (until != nullptr && live_keys[next] == *until) return;
      if (!in_config.contains(live_keys[next])) merged.push_back(std::move(live[next]));
    }
  };
  for (std::size_t i = 0; i < config.size(); ++i) {
    const auto both = in_live.find(config_keys[i]);
    if (both == in_live.end() || both->second >= next) take_live(next_shared[i]);
    merged.push_back(both == in_live.end() ? json::value() : live[both->second]);
    merge_value(shape_of_element(shape), merged.back(), config[i]);
    if (both != in_live.end() && next == both->second) ++next;
  }
  take_live(nullptr);
  return merged;
}

void merge_value(const FieldShape& shape, json::value& live, const json::value& config) {
  if (const json::object* object = object_of(shape, &config)) {
    if (!live.is_object()) live = json::object();
    merge_members(shape, live.get_object(), *object);
    return;
  }
  const json::array* list = list_of_shape(shape, &config);
  if (list != nullptr && live.is_array()) {
    live = merge_elements(shape, std::move(live.get_array()), *list);
    return;
  }
  if (list != nullptr) {
    live = merge_elements(shape, {}, *list);
    return;
  }
  live = config;
}

}  // namespace

ApiResult<FieldSet> fields_of(std::string_view kind, const json::object& object) {
  return FieldReader().read(root_shape(kind), object);
}

FieldChanges changed_fields(std::string_view kind, const json::object& before,
                            const json::object& after) {
  FieldComparer comparer;
  comparer.members(root_shape(kind), &before, &after);
  return comparer.take();
}

json::object without_fields(std::string_view kind, json::object object, const FieldSet& gone) {
  strip_members(root_shape(kind), object, gone);
  return object;
}

FieldSet with_named_parents(std::string_view kind, const FieldSet& set) {
  return name_parents(root_shape(kind), set);
}

json::object merge_owned(std::string_view kind, json::object live, const json::object& config) {
  merge_members(root_shape(kind), live, config);
  return live;
}

}  // namespace corehold
