// SPDX-License-Identifier: Apache-2.0
//
// Changing objects whose fields are of the types they should be, or absent: the other side
// of json_look.h.
#pragma once

#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace corehold {

// Null when the field is absent or something else.
boost::json::object* object_in(boost::json::object& owner, std::string_view field);
boost::json::array* list_in(boost::json::object& owner, std::string_view field);

// The object that the field is; it is made an empty one when it is none.
boost::json::object& made_object(boost::json::object& owner, std::string_view field);

// Makes the field as it is in `from`, there or not.
void copy_field(const boost::json::object& from, boost::json::object& to, std::string_view field);

}  // namespace corehold
