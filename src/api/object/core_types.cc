// SPDX-License-Identifier: Apache-2.0
#include "api/object/core_types.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "api/object/core_type_text.h"
#include "base/check.h"

namespace corehold {
namespace {

struct Builtin {
  std::string_view name;
  FieldKind kind;
  std::string_view go_name;
};

constexpr auto kBuiltins = std::to_array<Builtin>({
    {"string", FieldKind::kText, "string"},
    {"bool", FieldKind::kBool, "bool"},
    {"int32", FieldKind::kInt32, "int32"},
    {"int64", FieldKind::kInt64, "int64"},
    {"any", FieldKind::kAny, "interface {}"},
    {"types.UID", FieldKind::kText, "types.UID"},
    {"Quantity", FieldKind::kQuantity, "resource.Quantity"},
    {"Time", FieldKind::kTime, "v1.Time"},
    {"IntOrString", FieldKind::kIntOrText, "intstr.IntOrString"},
});

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Cuts what stands before `separator` off `rest`; all of it when there is none.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view taken = without_blanks(rest.substr(0, end));
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

std::string internal_name(std::string_view field) {
  for (const GoName& name : internal_names()) {
    if (name.field == field) return std::string(name.go);
  }
  std::string capital(field);
  if (capital.front() >= 'a' && capital.front() <= 'z') {
    capital.front() = static_cast<char>(capital.front() - 'a' + 'A');
  }
  return capital;
}

class TypeTable {
 public:
  TypeTable() {
    for (const TypeText& text : core_type_texts()) {
      types_[text.type].name = std::string(text.type);
    }
    for (const TypeText& text : core_type_texts()) {
      StructType& type = types_.at(text.type);
      add_fields(text.fields, type);
      type.is_tagged = text.type.starts_with("LabelSelector");
    }
    for (auto& [name, type] : types_) {
      for (const StructField& field : type.fields) type.internal_fields.push_back(&field);
    }
    for (const TypeText& order : internal_orders()) {
      StructType& type = types_.at(order.type);
      type.internal_fields.clear();
      std::string_view rest = order.fields;
      while (!rest.empty()) type.internal_fields.push_back(type.find(take_until(rest, ' ')));
    }
  }

  const StructType* find(std::string_view name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : &found->second;
  }

 private:
  void add_fields(std::string_view text, StructType& type) {
    while (!text.empty()) {
      std::string_view field = take_until(text, ';');
      if (field.starts_with("...")) {
        const StructType* other = find(field.substr(3));
        CHECK(other != nullptr && !other->fields.empty());
        type.fields.insert(type.fields.end(), other->fields.begin(), other->fields.end());
        continue;
      }
      std::string_view name = take_until(field, ' ');
      const bool is_always_written = name.ends_with('!');
      if (is_always_written) name.remove_suffix(1);
      type.fields.push_back({.name = std::string(name),
                             .go_name = internal_name(name),
                             .type = type_of(field),
                             .is_always_written = is_always_written});
    }
  }

  FieldType type_of(std::string_view text) {
    text = without_blanks(text);
    if (text.starts_with('*')) {
      FieldType type = type_of(text.substr(1));
      type.is_pointer = true;
      return type;
    }
    if (text.starts_with("[]")) return collection(FieldKind::kList, "[]", text.substr(2));
    constexpr std::string_view kMap = "map[string]";
    if (text.starts_with(kMap)) {
      return collection(FieldKind::kMap, kMap, text.substr(kMap.size()));
    }
    if (text == "ResourceList") {
      FieldType list = collection(FieldKind::kMap, kMap, "Quantity");
      list.go_name = "v1.ResourceList";
      return list;
    }
    for (const Builtin& builtin : kBuiltins) {
      if (builtin.name == text)
        return {.kind = builtin.kind, .go_name = std::string(builtin.go_name)};
    }
    const StructType* fields = find(text);
    return {.kind = fields == nullptr ? FieldKind::kText : FieldKind::kStruct,
            .go_name = fmt::format("v1.{}", text),
            .fields = fields};
  }

  FieldType collection(FieldKind kind, std::string_view before, std::string_view element) {
    elements_.push_back(std::make_unique<FieldType>(type_of(element)));
    return {.kind = kind,
            .go_name = fmt::format("{}{}", before, elements_.back()->go_name),
            .element = elements_.back().get()};
  }

  std::map<std::string_view, StructType> types_{};
  std::vector<std::unique_ptr<FieldType>> elements_{};
};

}  // namespace

const StructField* StructType::find(std::string_view field) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const StructField& one) { return one.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

const StructType* core_type(std::string_view name) {
  // Made of constants once, and never changed.
  static const TypeTable kTable;
  return kTable.find(name);
}

}  // namespace corehold
