// SPDX-License-Identifier: Apache-2.0
//
// The types of core/v1 that a node serves, field by field: what each field is, how Go calls
// it, and whether it is written when empty. Bodies are read by it (strict_fields.h), and what
// changed in a spec is shown by it (spec_difference.h). The table itself is core_type_text.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corehold {

enum class FieldKind {
  kText,
  kBool,
  kInt32,
  kInt64,
  kQuantity,
  kTime,
  kIntOrText,
  kAny,  // kept as it is: types a node has no use for
  kStruct,
  kList,
  kMap,  // from text
};

struct StructType;

struct FieldType {
  FieldKind kind = FieldKind::kAny;
  bool is_pointer = false;  // absent is different from empty
  std::string go_name{};    // in messages: "[]v1.Container", "string", "v1.RestartPolicy"
  const StructType* fields = nullptr;  // of kStruct
  const FieldType* element = nullptr;  // of kList and kMap
};

struct StructField {
  std::string name{};
  std::string go_name{};  // inside the API server, where differences are shown
  FieldType type{};
  bool is_always_written = false;
};

struct StructType {
  std::string name{};
  std::vector<StructField> fields{};                  // in the order they are written
  std::vector<const StructField*> internal_fields{};  // in the order of differences
  bool is_tagged = false;  // in differences as in JSON; the type is not the API server's own

  // Null when there is none of that name.
  const StructField* find(std::string_view field) const;
};

// "Pod", "Node", "PodSpec", ...; null for another. The same pointer each time.
const StructType* core_type(std::string_view name);

}  // namespace corehold
