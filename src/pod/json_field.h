// SPDX-License-Identifier: Apache-2.0
//
// Reading one field of a JSON object with the path to it for messages. As in the
// Kubernetes API a field that is null counts as absent.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "pod/quantity.h"

namespace corehold {

// Where in a document, as "spec.containers[1].name".
class Path {
 public:
  Path() = default;

  Path operator/(std::string_view name) const;
  Path operator/(std::size_t index) const;

  const std::string& str() const { return text_; }
  // kInvalid, "path: problem".
  Error error(std::string_view problem) const;

 private:
  explicit Path(std::string text) : text_(std::move(text)) {}

  std::string text_{};
};

// Quotes a text for a message; what is longer than a person would type is cut.
std::string shown(std::string_view text);

// No path or name of ours has any: they would end it early, or break lines of logs.
bool has_control_bytes(std::string_view text);

// Null when the field is absent or null.
const boost::json::value* field(const boost::json::object& object, std::string_view key);

// Null and "" for absent; an error when the field is of another type.
Result<const boost::json::object*> object_field(const boost::json::object& object, const Path& path,
                                                std::string_view key);
Result<const boost::json::array*> array_field(const boost::json::object& object, const Path& path,
                                              std::string_view key);
Result<std::string> string_field(const boost::json::object& object, const Path& path,
                                 std::string_view key);

// Empty where there is none of that type: for those who only look.
const boost::json::object& object_or_empty(const boost::json::object& object, std::string_view key);
const boost::json::array& list_or_empty(const boost::json::object& object, std::string_view key);
std::string_view text_or_empty(const boost::json::object& object, std::string_view key);

// A string, or a number that JSON has not already rounded.
Result<Quantity> quantity_of(const boost::json::value& value);

}  // namespace corehold
