// SPDX-License-Identifier: Apache-2.0
//
// Removing many members of a JSON object at once, with the others in the order they had:
// one by one each removal passes over the rest.
#pragma once

#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace corehold {

// Keys that are not there are passed over.
void erase_members(boost::json::object& object, const std::vector<std::string_view>& keys);

}  // namespace corehold
