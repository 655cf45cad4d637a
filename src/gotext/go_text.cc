// SPDX-License-Identifier: Apache-2.0
#include "gotext/go_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace corehold {
namespace {

namespace json = boost::json;

void print(const json::value& value, std::string& out) {
  if (out.size() > kMaxShownText) return;
  switch (value.kind()) {
    case json::kind::null:
      out += "<nil>";
      return;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case json::kind::int64:
      out += fmt::to_string(value.get_int64());
      return;
    case json::kind::uint64:
      out += fmt::to_string(value.get_uint64());
      return;
    case json::kind::double_:
      out += fmt::format("{}", value.get_double());
      return;
    case json::kind::string:
      out += std::string_view(value.get_string());
      return;
    case json::kind::array: {
      out += '[';
      bool is_first = true;
      for (const json::value& item : value.get_array()) {
        if (out.size() > kMaxShownText) break;
        if (!is_first) out += ' ';
        is_first = false;
        print(item, out);
      }
      out += ']';
      return;
    }
    case json::kind::object: {
      std::vector<const json::key_value_pair*> members;
      members.reserve(value.get_object().size());
      for (const auto& member : value.get_object()) members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* left, const auto* right) { return left->key() < right->key(); });
      out += "map[";
      for (const auto* member : members) {
        if (out.size() > kMaxShownText) break;
        if (member != members.front()) out += ' ';
        out += std::string_view(member->key());
        out += ':';
        print(member->value(), out);
      }
      out += ']';
      return;
    }
  }
}

}  // namespace

std::string go_text(const json::value& value) {
  std::string out;
  print(value, out);
  if (out.size() <= kMaxShownText) return out;
  // Not within a character of UTF-8.
  std::size_t end = kMaxShownText;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;
  out.resize(end);
  return out + "...";
}

std::string_view go_json_type(const json::value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  return value.is_null() ? "null" : "number";
}

std::string_view go_type(const json::value& value) {
  if (value.is_object()) return "map[string]interface {}";
  if (value.is_array()) return "[]interface {}";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_null()) return "%!s(<nil>)";
  return value.is_double() ? "float64" : "int64";
}

}  // namespace corehold
