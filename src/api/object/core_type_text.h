// SPDX-License-Identifier: Apache-2.0
//
// The text that core_types.cc makes the types of.
#pragma once

#include <span>
#include <string_view>

namespace corehold {

// `fields` has one field after the other, between semicolons: its name, its type, and
// between them `!` for one that is written when empty. A type is as in Go: `*` for a pointer,
// `[]` for a list, `map[string]`. Lower-case types are string, bool, int32, int64, any; of
// the others those with a line of their own are structs, Quantity, Time, IntOrString and
// ResourceList are what they say, and the rest are texts with a name. `...Type` stands for
// all fields of that type.
struct TypeText {
  std::string_view type;
  std::string_view fields;
};

std::span<const TypeText> core_type_texts();

// Types whose fields the API server keeps in another order inside, names between blanks.
std::span<const TypeText> internal_orders();

// What a field is called inside where that is not its name with a capital.
struct GoName {
  std::string_view field;
  std::string_view go;
};
std::span<const GoName> internal_names();

}  // namespace corehold
