// SPDX-License-Identifier: Apache-2.0
//
// What patches and field ownership must know of the types of core/v1: which lists are merged
// and by which keys, which maps are owned key by key, what is only ever taken whole. One
// table, for Pod, Node, Event and Namespace; whatever it does not name is taken whole.
#pragma once

#include <cstddef>
#include <string_view>

namespace corehold {

// How the owners of fields see a value (server-side apply).
enum class Shape {
  kAtomic,     // one thing with one owner: scalars, and objects and lists taken whole
  kStruct,     // an object whose fields are named in the table
  kMap,        // an object whose keys are the user's: labels
  kKeyedList,  // a list of objects told apart by `keys`
  kSet,        // a list of scalars, each at most once
};

// How a strategic merge patch treats a list.
enum class ListPatch { kReplace, kMerge };

struct FieldShape {
  Shape shape = Shape::kAtomic;
  // Of the struct, or of the list's elements or the map's values: what field_shape() takes.
  // Empty: those are atomic.
  std::string_view type{};
  std::string_view keys{};  // of kKeyedList, sorted, with a space between
  ListPatch patch = ListPatch::kReplace;
  std::string_view merge_key{};  // of ListPatch::kMerge; empty for a list of scalars
};

// The type of an object of this kind ("Pod"); empty for a kind the table does not have.
std::string_view type_of_kind(std::string_view kind);

// Of the field `name` of a struct of that type; atomic for what is not in the table.
const FieldShape& field_shape(std::string_view type, std::string_view name);

// What a list's key is where an element does not say it ("TCP" for protocol); empty: nothing.
std::string_view default_of_key(std::string_view key);

// A whole object of that kind with nothing said in it, as its fields are written when they
// are empty: the object that a first write is compared with. JSON.
std::string_view empty_object_text(std::string_view kind);

}  // namespace corehold
