// SPDX-License-Identifier: Apache-2.0
#include "api/object/typed_reader.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/json/time_text.h"
#include "gotext/go_text.h"
#include "pod/quantity.h"

namespace corehold {
namespace {

namespace json = boost::json;

// As many unknown fields as are told.
constexpr std::size_t kMostUnknown = 100;

// The way to a value; texts are made of it only when something is to be said.
struct Where {
  const Where* up = nullptr;
  std::string_view field{};        // a field of the struct `in`...
  const StructType* in = nullptr;  // ... or, when null, an element of a list
  std::size_t index = 0;
};

std::string with_indexes(const Where& where) {
  if (where.in == nullptr) {
    return fmt::format("{}[{}]", where.up == nullptr ? "" : with_indexes(*where.up), where.index);
  }
  if (where.up == nullptr) return std::string(where.field);
  return fmt::format("{}.{}", with_indexes(*where.up), where.field);
}

// "Container.spec.containers.name": Go names the innermost struct, then the way there.
std::string go_field(const Where& where) {
  const StructType* inner = nullptr;
  std::string path;
  for (const Where* at = &where; at != nullptr; at = at->up) {
    if (at->in == nullptr) continue;
    if (inner == nullptr) inner = at->in;
    path = path.empty() ? std::string(at->field) : fmt::format("{}.{}", at->field, path);
  }
  return fmt::format("{}.{}", inner == nullptr ? "" : inner->name, path);
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// A double is not written as it was sent, but as short as can be.
std::string number_text(const json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
}

Result<Quantity> read_quantity(const json::value& value) {
  if (value.is_null()) return Quantity();
  if (const json::string* text = value.if_string()) return Quantity::parse(without_space(*text));
  if (const std::int64_t* number = value.if_int64()) return Quantity::of(*number);
  return Quantity::parse(number_text(value));
}

bool is_go_empty(const FieldType& type, const json::value& value) {
  if (value.is_null()) return true;
  if (type.is_pointer) return false;
  switch (type.kind) {
    case FieldKind::kText:
      return value.get_string().empty();
    case FieldKind::kBool:
      return !value.get_bool();
    case FieldKind::kInt32:
    case FieldKind::kInt64:
      return value.get_int64() == 0;
    case FieldKind::kList:
      return value.get_array().empty();
    case FieldKind::kMap:
      return value.get_object().empty();
    case FieldKind::kQuantity:
    case FieldKind::kTime:
    case FieldKind::kIntOrText:
    case FieldKind::kAny:
    case FieldKind::kStruct:
      return false;
  }
  return false;
}

// Go cannot tell an empty struct from none.
bool is_written_when_absent(const FieldType& type) {
  return !type.is_pointer && type.kind == FieldKind::kStruct;
}

class TypedReader {
 public:
  TypedReader(TypedObject& result, std::size_t most) : result_(result), most_(most) {}

  json::object read_struct(const StructType& type, const json::object& object, const Where* where) {
    std::vector<std::optional<json::value>> found(type.fields.size());
    for (const auto& [key, value] : object) {
      const StructField* field = type.find(key);
      const Where here{.up = where, .field = key, .in = &type};
      if (field == nullptr) {
        if (result_.unknown.size() < kMostUnknown) result_.unknown.push_back(with_indexes(here));
        continue;
      }
      if (value.is_null()) continue;
      if (!count()) break;
      found[static_cast<std::size_t>(field - type.fields.data())] = read(field->type, value, here);
    }
    json::object written;
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      const StructField& field = type.fields[i];
      if (!found[i] && !field.is_always_written && !is_written_when_absent(field.type)) continue;
      json::value value = found[i]                ? *std::move(found[i])
                          : field.type.is_pointer ? nullptr
                                                  : zero(field.type);
      const bool is_left_out = is_go_empty(field.type, value) && !field.is_always_written;
      if (!is_left_out) written.emplace(field.name, std::move(value));
    }
    return written;
  }

 private:
  // What Go has where nothing was said.
  json::value zero(const FieldType& type) {
    switch (type.kind) {
      case FieldKind::kText:
        return json::string();
      case FieldKind::kBool:
        return false;
      case FieldKind::kInt32:
      case FieldKind::kInt64:
      case FieldKind::kIntOrText:
        return 0;
      case FieldKind::kQuantity:
        return "0";
      case FieldKind::kStruct:
        return read_struct(*type.fields, {}, nullptr);
      case FieldKind::kTime:
      case FieldKind::kAny:
      case FieldKind::kList:
      case FieldKind::kMap:
        return nullptr;
    }
    return nullptr;
  }

  json::value read(const FieldType& type, const json::value& value, const Where& where) {
    switch (type.kind) {
      case FieldKind::kText:
        return value.is_string() ? value : wrong_type(type, value, where);
      case FieldKind::kBool:
        return value.is_bool() ? value : wrong_type(type, value, where);
      case FieldKind::kInt32:
        return read_number(type, value, where, std::numeric_limits<std::int32_t>::max());
      case FieldKind::kInt64:
        return read_number(type, value, where, std::numeric_limits<std::int64_t>::max());
      case FieldKind::kQuantity: {
        const Result<Quantity> quantity = read_quantity(value);
        if (quantity) return json::string(quantity->str());
        fail_at_once(quantity.error().message);
        return "0";
      }
      case FieldKind::kTime:
        return read_time(value);
      case FieldKind::kIntOrText:
        return read_int_or_text(value);
      case FieldKind::kAny:
        return value;
      case FieldKind::kStruct:
        if (const json::object* object = value.if_object())
          return read_struct(*type.fields, *object, &where);
        return wrong_type(type, value, where);
      case FieldKind::kList:
        return read_list(type, value, where);
      case FieldKind::kMap:
        return read_map(type, value, where);
    }
    return nullptr;
  }

  json::value read_list(const FieldType& type, const json::value& value, const Where& where) {
    const json::array* list = value.if_array();
    if (list == nullptr) return wrong_type(type, value, where);
    json::array written;
    for (std::size_t i = 0; i < list->size() && count(); ++i) {
      const json::value& element = (*list)[i];
      const Where here{.up = &where, .index = i};
      written.push_back(element.is_null() ? zero(*type.element)
                                          : read(*type.element, element, here));
    }
    return written;
  }

  json::value read_map(const FieldType& type, const json::value& value, const Where& where) {
    const json::object* object = value.if_object();
    if (object == nullptr) return wrong_type(type, value, where);
    std::vector<const json::key_value_pair*> members;
    members.reserve(object->size());
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* left, const auto* right) { return left->key() < right->key(); });
    json::object written;
    for (const json::key_value_pair* member : members) {
      if (!count()) break;
      written.emplace(member->key(), member->value().is_null()
                                         ? zero(*type.element)
                                         : read(*type.element, member->value(), where));
    }
    return written;
  }

  json::value read_number(const FieldType& type, const json::value& value, const Where& where,
                          std::int64_t most) {
    const std::int64_t* number = value.if_int64();
    if (number != nullptr && *number <= most && *number >= -most - 1) return value;
    return wrong_type(type, value, where);
  }

  json::value read_time(const json::value& value) {
    const json::string* text = value.if_string();
    if (text == nullptr) {
      fail_at_once(fmt::format("json: cannot unmarshal {} into Go value of type string",
                               go_json_type(value)));
      return nullptr;
    }
    constexpr std::string_view kNever = "0001-01-01T00:00:00Z";
    if (*text == kNever) return nullptr;
    const auto time = parse_time(*text);
    if (time) return json::string(time_text(*time));
    fail_at_once(
        fmt::format(R"(parsing time "{0}" as "2006-01-02T15:04:05Z07:00": cannot parse "{0}" as )"
                    R"("2006")",
                    std::string_view(*text)));
    return nullptr;
  }

  json::value read_int_or_text(const json::value& value) {
    if (value.is_string()) return value;
    const std::int64_t* number = value.if_int64();
    using Limits = std::numeric_limits<std::int32_t>;
    if (number != nullptr && *number >= Limits::min() && *number <= Limits::max()) return value;
    fail_at_once(
        fmt::format("json: cannot unmarshal {} into Go value of type int32", shown(value)));
    return 0;
  }

  static std::string shown(const json::value& value) {
    const std::string_view type = go_json_type(value);
    return type == "number" ? fmt::format("number {}", number_text(value)) : std::string(type);
  }

  // Go goes on, and tells the first of these at the end.
  json::value wrong_type(const FieldType& type, const json::value& value, const Where& where) {
    if (result_.failure.empty()) {
      const bool is_number = type.kind == FieldKind::kInt32 || type.kind == FieldKind::kInt64;
      result_.failure = fmt::format("json: cannot unmarshal {} into Go struct field {} of type {}",
                                    is_number ? shown(value) : std::string(go_json_type(value)),
                                    go_field(where), type.go_name);
    }
    return zero(type);
  }

  // Types that read themselves stop Go, whatever it has found before.
  void fail_at_once(std::string message) {
    if (has_stopped_) return;
    has_stopped_ = true;
    result_.failure = std::move(message);
  }

  bool count() {
    if (++values_ > most_) result_.is_too_large = true;
    return !result_.is_too_large;
  }

  TypedObject& result_;
  std::size_t most_;
  std::size_t values_ = 0;
  bool has_stopped_ = false;
};

}  // namespace

TypedObject read_typed(const StructType& type, const json::object& object) {
  TypedObject result;
  result.object = TypedReader(result, kMaxObjectValues).read_struct(type, object, nullptr);
  return result;
}

json::object canonical(const StructType& type, const json::object& object) {
  TypedObject result;
  result.object = TypedReader(result, std::numeric_limits<std::size_t>::max())
                      .read_struct(type, object, nullptr);
  if (!result.failure.empty()) return object;
  return std::move(result.object);
}

}  // namespace corehold
