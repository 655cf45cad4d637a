// SPDX-License-Identifier: Apache-2.0
#include "api/json/json_look.h"

#include <boost/json.hpp>

namespace corehold {

namespace json = boost::json;

const json::value* look(const json::object& object, LookPath path) {
  const json::object* inside = &object;
  const json::value* found = nullptr;
  for (const std::string_view key : path) {
    if (inside == nullptr) return nullptr;
    found = inside->if_contains(key);
    if (found == nullptr) return nullptr;
    inside = found->if_object();
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

const json::object* look_object(const json::object& object, LookPath path) {
  const json::value* found = look(object, path);
  return found == nullptr ? nullptr : found->if_object();
}

const json::array& look_array(const json::object& object, LookPath path) {
  static const json::array kNone;
  const json::value* found = look(object, path);
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  return list == nullptr ? kNone : *list;
}

std::string_view look_text(const json::object& object, LookPath path) {
  const json::value* found = look(object, path);
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::int64_t look_number(const json::object& object, LookPath path) {
  const json::value* found = look(object, path);
  const std::int64_t* number = found == nullptr ? nullptr : found->if_int64();
  return number == nullptr ? 0 : *number;
}

bool look_true(const json::object& object, LookPath path) {
  const json::value* found = look(object, path);
  return found != nullptr && found->is_bool() && found->get_bool();
}

const json::object& as_object_or_empty(const json::value& value) {
  static const json::object kNone;
  const json::object* object = value.if_object();
  return object == nullptr ? kNone : *object;
}

const json::object& look_object_or_empty(const json::object& object, LookPath path) {
  static const json::object kNone;
  const json::object* found = look_object(object, path);
  return found == nullptr ? kNone : *found;
}

}  // namespace corehold
