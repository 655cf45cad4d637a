// SPDX-License-Identifier: Apache-2.0
#include "pod/json_field.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace corehold {

namespace json = boost::json;

Path Path::operator/(std::string_view name) const {
  constexpr std::size_t kShown = 64;
  name = name.substr(0, kShown);
  return Path(text_.empty() ? std::string(name) : fmt::format("{}.{}", text_, name));
}

Path Path::operator/(std::size_t index) const { return Path(fmt::format("{}[{}]", text_, index)); }

Error Path::error(std::string_view problem) const {
  return Error{Code::kInvalid, fmt::format("{}: {}", str(), problem)};
}

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 64;
  if (text.size() <= kShown) return fmt::format("{:?}", text);
  return fmt::format("{:?}... ({} characters)", text.substr(0, kShown), text.size());
}

bool has_control_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
  });
}

const json::value* field(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Result<const json::object*> object_field(const json::object& object, const Path& path,
                                         std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr) return static_cast<const json::object*>(nullptr);
  if (!found->is_object()) return (path / key).error("must be an object");
  return &found->get_object();
}

Result<const json::array*> array_field(const json::object& object, const Path& path,
                                       std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr) return static_cast<const json::array*>(nullptr);
  if (!found->is_array()) return (path / key).error("must be a list");
  return &found->get_array();
}

Result<std::string> string_field(const json::object& object, const Path& path,
                                 std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr) return std::string();
  if (!found->is_string()) {
    return (path / key).error("must be a string; quote it if it looks like something else");
  }
  return std::string(found->get_string());
}

const json::object& object_or_empty(const json::object& object, std::string_view key) {
  static const json::object kNothing;
  const json::value* found = field(object, key);
  return found != nullptr && found->is_object() ? found->get_object() : kNothing;
}

const json::array& list_or_empty(const json::object& object, std::string_view key) {
  static const json::array kNothing;
  const json::value* found = field(object, key);
  return found != nullptr && found->is_array() ? found->get_array() : kNothing;
}

std::string_view text_or_empty(const json::object& object, std::string_view key) {
  const json::value* found = field(object, key);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string())
                                                : std::string_view();
}

Result<Quantity> quantity_of(const json::value& value) {
  if (const json::string* text = value.if_string()) {
    std::string_view trimmed = *text;
    constexpr std::string_view kSpace = " \t\r\n";
    trimmed.remove_prefix(std::min(trimmed.find_first_not_of(kSpace), trimmed.size()));
    trimmed = trimmed.substr(0, trimmed.find_last_not_of(kSpace) + 1);
    auto quantity = Quantity::parse(trimmed);
    if (!quantity) return wrap(shown(*text), quantity.error());
    return quantity;
  }
  if (const std::int64_t* number = value.if_int64()) return Quantity::of(*number);
  if (const std::uint64_t* number = value.if_uint64())
    return Quantity::parse(fmt::to_string(*number));
  if (const double* number = value.if_double()) {
    // Above this a double no longer holds what was written.
    constexpr double kExact = 9007199254740992.0;
    if (std::abs(*number) < kExact) return Quantity::parse(fmt::format("{}", *number));
    return Error{Code::kInvalid, "the number is too large to be read exactly; quote it"};
  }
  return Error{Code::kInvalid, "must be a quantity: a string or a number"};
}

}  // namespace corehold
