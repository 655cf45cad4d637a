// SPDX-License-Identifier: Apache-2.0
#include "cli/apply/three_way_patch.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/patch/object_schema.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Whether the members of an object are amounts of resources.
enum class Values { kPlain, kAmounts };

const json::object& object_or_empty(const json::value* value) {
  static const json::object kNone;
  return value != nullptr && value->is_object() ? value->get_object() : kNone;
}

const json::array& array_or_empty(const json::value* value) {
  static const json::array kNone;
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

bool is_same(const json::value& a, const json::value& b, Values values) {
  if (a == b) return true;
  if (values != Values::kAmounts) return false;
  const auto one = quantity_of(a);
  const auto other = quantity_of(b);
  return one && other && *one == *other;
}

Values values_of(std::string_view key) {
  return key == "requests" || key == "limits" ? Values::kAmounts : Values::kPlain;
}

bool contains(const json::array& list, const json::value& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// NOLINTBEGIN(clang-analyzer-core.NullDereference): empty lists of Boost.JSON begin at null

// The element of a list that is told apart by that value of its key; null: none.
const json::object* element(const json::array& list, std::string_view key,
                            const json::value& value) {
  for (const json::value& item : list) {
    const json::object& object = object_or_empty(&item);
    const json::value* own = field(object, key);
    if (own != nullptr && *own == value) return &object;
  }
  return nullptr;
}

// What differs in the members of an object.
class Difference {
 public:
  Difference(std::string_view type, const ThreeWay& objects, Values values)
      : type_(type), objects_(objects), values_(values) {}

  json::object patch() {
    for (const auto& member : objects_.wanted) set(member.key());
    for (const auto& member : objects_.applied) {
      const std::string_view key = member.key();
      if (field(objects_.wanted, key) == nullptr && field(objects_.current, key) != nullptr) {
        remove(key);
      }
    }
    return std::move(patch_);
  }

 private:
  void set(std::string_view key) {
    const json::value* wanted = field(objects_.wanted, key);
    const json::value* current = field(objects_.current, key);
    if (wanted == nullptr) {  // null: it is not to be there
      if (current != nullptr) patch_[key] = nullptr;
      return;
    }
    const FieldShape& shape = field_shape(type_, key);
    const bool is_there = current != nullptr;
    if (is_there && wanted->is_object() && current->is_object()) return set_object(key, shape);
    if (is_there && wanted->is_array() && current->is_array() && shape.patch == ListPatch::kMerge) {
      return set_list(key, shape);
    }
    if (!is_there || !is_same(*wanted, *current, values_)) patch_[key] = *wanted;
  }

  void remove(std::string_view key) {
    const FieldShape& shape = field_shape(type_, key);
    const json::value* current = field(objects_.current, key);
    if (shape.patch == ListPatch::kMerge && current->is_array()) return set_list(key, shape);
    patch_[key] = nullptr;
  }

  void set_object(std::string_view key, const FieldShape& shape) {
    json::object inner = Difference(shape.type,
                                    {.applied = object_or_empty(field(objects_.applied, key)),
                                     .wanted = object_or_empty(field(objects_.wanted, key)),
                                     .current = object_or_empty(field(objects_.current, key))},
                                    values_of(key))
                             .patch();
    if (!inner.empty()) patch_[key] = std::move(inner);
  }

  void set_list(std::string_view key, const FieldShape& shape) {
    const json::array& applied = array_or_empty(field(objects_.applied, key));
    const json::array& wanted = array_or_empty(field(objects_.wanted, key));
    const json::array& current = array_or_empty(field(objects_.current, key));
    if (shape.merge_key.empty()) return set_scalars(key, applied, wanted, current);
    const std::string merge_key(shape.merge_key);
    json::array changes;
    json::array order;
    for (const json::value& item : wanted) {
      const json::object& own = object_or_empty(&item);
      const json::value* name = field(own, merge_key);
      if (name == nullptr) {  // cannot be merged; the API will say so
        patch_[key] = wanted;
        return;
      }
      order.push_back(json::object{{merge_key, *name}});
      const json::object* there = element(current, merge_key, *name);
      if (there == nullptr) {
        changes.push_back(item);
        continue;
      }
      const json::object* before = element(applied, merge_key, *name);
      json::object inner =
          Difference(shape.type,
                     {.applied = before == nullptr ? object_or_empty(nullptr) : *before,
                      .wanted = own,
                      .current = *there},
                     Values::kPlain)
              .patch();
      if (inner.empty()) continue;
      inner[merge_key] = *name;
      changes.push_back(std::move(inner));
    }
    for (const json::value& item : applied) {
      const json::value* name = field(object_or_empty(&item), merge_key);
      if (name == nullptr || element(wanted, merge_key, *name) != nullptr ||
          element(current, merge_key, *name) == nullptr) {
        continue;
      }
      changes.push_back(json::object{{"$patch", "delete"}, {merge_key, *name}});
    }
    if (changes.empty()) return;
    if (!order.empty()) patch_[fmt::format("$setElementOrder/{}", key)] = std::move(order);
    patch_[key] = std::move(changes);
  }

  void set_scalars(std::string_view key, const json::array& applied, const json::array& wanted,
                   const json::array& current) {
    json::array more;
    json::array gone;
    for (const json::value& item : wanted) {
      if (!contains(current, item)) more.push_back(item);
    }
    for (const json::value& item : applied) {
      if (!contains(wanted, item) && contains(current, item)) gone.push_back(item);
    }
    if (more.empty() && gone.empty()) return;
    if (!wanted.empty()) patch_[fmt::format("$setElementOrder/{}", key)] = wanted;
    if (!gone.empty()) patch_[fmt::format("$deleteFromPrimitiveList/{}", key)] = std::move(gone);
    if (!more.empty()) patch_[key] = std::move(more);
  }

  std::string_view type_;
  const ThreeWay& objects_;
  Values values_;
  json::object patch_{};
};

// NOLINTEND(clang-analyzer-core.NullDereference)

}  // namespace

json::object three_way_patch(std::string_view kind, const ThreeWay& objects) {
  return Difference(type_of_kind(kind), objects, Values::kPlain).patch();
}

}  // namespace corehold
