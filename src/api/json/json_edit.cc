// SPDX-License-Identifier: Apache-2.0
#include "api/json/json_edit.h"

namespace corehold {

namespace json = boost::json;

json::object* object_in(json::object& owner, std::string_view field) {
  json::value* found = owner.if_contains(field);
  return found == nullptr ? nullptr : found->if_object();
}

json::array* list_in(json::object& owner, std::string_view field) {
  json::value* found = owner.if_contains(field);
  return found == nullptr ? nullptr : found->if_array();
}

json::object& made_object(json::object& owner, std::string_view field) {
  json::value& value = owner[field];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

void copy_field(const json::object& from, json::object& to, std::string_view field) {
  if (const json::value* value = from.if_contains(field)) {
    to[field] = *value;
  } else {
    to.erase(field);
  }
}

}  // namespace corehold
