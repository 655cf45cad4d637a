// SPDX-License-Identifier: Apache-2.0
//
// Objects seen as sets of fields that somebody owns, by the schema of object_schema.h: which
// fields an object has, what differs between two, one without some of its fields, and two
// merged. What server-side apply is made of.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/patch/field_set.h"

namespace corehold {

// The fields that an applied object speaks of. Fails with 500 where an element of a keyed
// list lacks a key, or has the keys of another one.
ApiResult<FieldSet> fields_of(std::string_view kind, const boost::json::object& object);

struct FieldChanges {
  FieldSet added{};
  FieldSet modified{};
  FieldSet removed{};

  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};

// What changes from `before` to `after`, order in lists apart. Never fails: an element without
// its keys counts by its place.
FieldChanges changed_fields(std::string_view kind, const boost::json::object& before,
                            const boost::json::object& after);

// `object` without the members of `gone` and what is below them. Objects and lists that
// this leaves empty go too.
boost::json::object without_fields(std::string_view kind, boost::json::object object,
                                   const FieldSet& gone);

// `set` with every named field on the way to a member a member too: ".spec" for
// ".spec.containers[...]", but no key of a map and no element of a list.
FieldSet with_named_parents(std::string_view kind, const FieldSet& set);

// `live` with everything that `config` says. Lists with keys and sets are merged: elements
// of `config` in its order, those of `live` alone in their places.
// REQUIRES: fields_of(kind, config) has succeeded.
boost::json::object merge_owned(std::string_view kind, boost::json::object live,
                                const boost::json::object& config);

}  // namespace corehold
