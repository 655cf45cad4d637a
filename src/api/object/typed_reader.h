// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON as an object of a type of core/v1, the way Go does, and writes it back the way
// Go does. For strict_fields.cc, which says what follows from what was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/object/core_types.h"

namespace corehold {

// What an object may consist of, lists and fields counted: far more than any pod, and little
// enough that what is made of it stays small.
inline constexpr std::size_t kMaxObjectValues = 30'000;

// How long an object may be as JSON: what an API server can store. Each of the latest changes is
// kept with all of its object, for watchers.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{3} << 19U;

struct TypedObject {
  boost::json::object object{};
  std::string failure{};               // of a value of the wrong type; "": none
  std::vector<std::string> unknown{};  // paths of fields that the type does not have
  bool is_too_large = false;           // above kMaxObjectValues; `object` is then not complete
};

TypedObject read_typed(const StructType& type, const boost::json::object& object);

// `object` as read_typed() writes it, however large, where it can be read: nothing but its
// form changes.
boost::json::object canonical(const StructType& type, const boost::json::object& object);

}  // namespace corehold
