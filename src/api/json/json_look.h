// SPDX-License-Identifier: Apache-2.0
//
// Looking into objects that are only to be shown or selected: what is absent or of another
// type than expected counts as nothing, because a table must not fail over one odd object.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace corehold {

using LookPath = std::initializer_list<std::string_view>;

// Null when the way there is not all objects, or ends in null.
const boost::json::value* look(const boost::json::object& object, LookPath path);

const boost::json::object* look_object(const boost::json::object& object, LookPath path);
// The elements that are objects go through as_object_or_empty().
const boost::json::array& look_array(const boost::json::object& object, LookPath path);
std::string_view look_text(const boost::json::object& object, LookPath path);
std::int64_t look_number(const boost::json::object& object, LookPath path);
bool look_true(const boost::json::object& object, LookPath path);

const boost::json::object& as_object_or_empty(const boost::json::value& value);
// The same for what is there, or not.
const boost::json::object& look_object_or_empty(const boost::json::object& object, LookPath path);

}  // namespace corehold
