// SPDX-License-Identifier: Apache-2.0
#include "cli/json_text.h"

#include <algorithm>

#include <boost/json.hpp>

namespace corehold {
namespace {

namespace json = boost::json;

// Whether it holds no list of lists or objects, however deep.
bool is_flat(const json::value& value) {
  const auto scalar = [](const json::value& item) {
    return !item.is_structured() || is_flat(item);
  };
  if (const auto* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [&](const auto& item) { return scalar(item.value()); });
  }
  if (const auto* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(),
                       [](const json::value& item) { return !item.is_structured(); });
  }
  return true;
}

// Objects and lists of plain values on one line, everything else indented.
void print(const json::value& value, std::string& out, int indent) {
  const std::string inner(static_cast<std::size_t>(indent) + 2, ' ');
  const std::string outer(static_cast<std::size_t>(indent), ' ');
  const auto* array = value.if_array();
  if (array != nullptr && !is_flat(value)) {
    out += "[";
    const char* separator = "\n";
    for (const json::value& item : *array) {
      out += separator + inner;
      print(item, out, indent + 2);
      separator = ",\n";
    }
    out += "\n" + outer + "]";
  } else if (value.is_object() && (indent == 0 || !is_flat(value))) {
    out += "{";
    const char* separator = "\n";
    for (const auto& item : value.get_object()) {
      out += separator + inner + json::serialize(item.key()) + ": ";
      print(item.value(), out, indent + 2);
      separator = ",\n";
    }
    out += "\n" + outer + "}";
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  print(value, out, 0);
  return out + "\n";
}

}  // namespace corehold
