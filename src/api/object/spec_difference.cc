// SPDX-License-Identifier: Apache-2.0
#include "api/object/spec_difference.h"

#include <algorithm>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/object/line_diff.h"
#include "base/check.h"
#include "pod/quantity.h"

namespace corehold {
namespace {

namespace json = boost::json;

const json::value* at(const json::object& object, std::string_view field) {
  const json::value* found = object.if_contains(field);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool same_amount(const json::value& left, const json::value& right) {
  if (!left.is_string() || !right.is_string()) return left == right;
  const auto one = Quantity::parse(left.get_string());
  const auto other = Quantity::parse(right.get_string());
  return one && other ? *one == *other : left == right;
}

bool same(const FieldType& type, const json::value& left, const json::value& right) {
  if (left.kind() != right.kind()) return false;
  switch (type.kind) {
    case FieldKind::kQuantity:
      return same_amount(left, right);
    case FieldKind::kStruct:
      return left.is_object() &&
             means_the_same(*type.fields, left.get_object(), right.get_object());
    case FieldKind::kList:
      return left.is_array() && std::equal(left.get_array().begin(), left.get_array().end(),
                                           right.get_array().begin(), right.get_array().end(),
                                           [&](const json::value& one, const json::value& other) {
                                             return same(*type.element, one, other);
                                           });
    case FieldKind::kMap: {
      if (!left.is_object() || left.get_object().size() != right.get_object().size()) return false;
      return std::all_of(left.get_object().begin(), left.get_object().end(),
                         [&](const auto& member) {
                           const json::value* other = right.get_object().if_contains(member.key());
                           return other != nullptr && same(*type.element, member.value(), *other);
                         });
    }
    default:
      return left == right;
  }
}

// Writes one line after the other, each deeper by a blank than what it is in.
class Dump {
 public:
  std::vector<std::string> take() { return std::move(lines_); }

  // `before` is what stands on the line already, `end` what closes it.
  void write(const FieldType& type, const json::value* value, std::size_t depth,
             const std::string& before, std::string_view end) {
    if (value == nullptr &&
        (type.is_pointer || type.kind == FieldKind::kList || type.kind == FieldKind::kMap ||
         type.kind == FieldKind::kTime || type.kind == FieldKind::kAny)) {
      return line(fmt::format("{}null{}", before, end));
    }
    if (type.kind == FieldKind::kStruct && !type.fields->is_tagged) {
      static const json::object kNone;
      const json::object* object = value == nullptr ? &kNone : value->if_object();
      return write_struct(*type.fields, object == nullptr ? kNone : *object, depth, before, end);
    }
    if (value == nullptr) return line(fmt::format("{}{}{}", before, zero(type), end));
    write_json(type, *value, depth, before, end);
  }

  void write_struct(const StructType& type, const json::object& object, std::size_t depth,
                    const std::string& before, std::string_view end) {
    line(before + "{");
    for (const StructField* field : type.internal_fields) {
      const bool is_last = field == type.internal_fields.back();
      if (type.name == "PodSpec" && field->name == "securityContext") {
        write_security(*field, object, depth);
        continue;
      }
      write(field->type, at(object, field->name), depth + 1,
            fmt::format("{:{}}\"{}\": ", "", depth + 1, field->go_name), is_last ? "" : ",");
    }
    line(fmt::format("{:{}}}}{}", "", depth, end));
  }

 private:
  void line(std::string text) { lines_.push_back(std::move(text)); }

  static std::string_view zero(const FieldType& type) {
    switch (type.kind) {
      case FieldKind::kText:
        return "\"\"";
      case FieldKind::kBool:
        return "false";
      case FieldKind::kQuantity:
        return "\"0\"";
      case FieldKind::kStruct:
        return "{}";
      default:
        return "0";
    }
  }

  // Inside, what a pod shares with its host is part of its security context.
  void write_security(const StructField& field, const json::object& spec, std::size_t depth) {
    const std::string indent(depth + 2, ' ');
    const json::value* security = at(spec, field.name);
    line(fmt::format("{:{}}\"{}\": {{", "", depth + 1, field.go_name));
    const StructType& outer = *core_type("PodSpec");
    for (const std::string_view name :
         {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"}) {
      const StructField* shared = outer.find(name);
      write(shared->type, at(spec, name), depth + 2,
            fmt::format("{}\"{}\": ", indent, shared->go_name), ",");
    }
    static const json::object kNone;
    const json::object& inner =
        security == nullptr || !security->is_object() ? kNone : security->get_object();
    const std::vector<const StructField*>& fields = field.type.fields->internal_fields;
    for (const StructField* one : fields) {
      write(one->type, at(inner, one->name), depth + 2,
            fmt::format("{}\"{}\": ", indent, one->go_name), one == fields.back() ? "" : ",");
    }
    line(fmt::format("{:{}}}},", "", depth + 1));
  }

  // A value whose parts, if it has any, have no names of the API server's own.
  void write_json(const FieldType& type, const json::value& value, std::size_t depth,
                  const std::string& before, std::string_view end) {
    const json::array* list = value.if_array();
    const json::object* object = value.if_object();
    if (list != nullptr && !list->empty()) {
      line(before + "[");
      for (const json::value& element : *list) {
        const std::string_view comma = &element == &list->back() ? "" : ",";
        const std::string indent(depth + 1, ' ');
        if (type.element != nullptr) {
          write(*type.element, &element, depth + 1, indent, comma);
        } else {
          write_json({}, element, depth + 1, indent, comma);
        }
      }
      return line(fmt::format("{:{}}]{}", "", depth, end));
    }
    if (object != nullptr && !object->empty()) {
      line(before + "{");
      std::size_t left = object->size();
      for (const auto& [key, inner] : *object) {
        const std::string name =
            fmt::format("{:{}}{}: ", "", depth + 1, json::serialize(json::value(key)));
        write_json({}, inner, depth + 1, name, --left == 0 ? "" : ",");
      }
      return line(fmt::format("{:{}}}}{}", "", depth, end));
    }
    line(fmt::format("{}{}{}", before, json::serialize(value), end));
  }

  std::vector<std::string> lines_{};
};

}  // namespace

bool means_the_same(const StructType& type, const json::object& left, const json::object& right) {
  return std::all_of(type.fields.begin(), type.fields.end(), [&](const StructField& field) {
    const json::value* one = at(left, field.name);
    const json::value* other = at(right, field.name);
    if (one == nullptr || other == nullptr) return one == other;
    return same(field.type, *one, *other);
  });
}

std::string pod_spec_difference(const json::object& before, const json::object& after) {
  const StructType* type = core_type("PodSpec");
  CHECK(type != nullptr);
  Dump old_dump;
  Dump new_dump;
  old_dump.write_struct(*type, before, 0, "", "");
  new_dump.write_struct(*type, after, 0, "", "");
  return unified_diff(old_dump.take(), new_dump.take());
}

}  // namespace corehold
